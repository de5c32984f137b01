import { environments } from '../../../lib/environments.ts';
import { exampleForm } from './example-form.ts';

/** The real environments, and what only other settings bring into a template. */
export const everyForm: Readonly<Record<string, unknown>> = {
  ...environments,
  'all-defaults': exampleForm(),
  'all-options': {
    ...exampleForm(),
    tracing: true,
    trail: { sealingKeyWriters: ['arn:aws:iam::111111111111:role/key-keeper'] },
    reservedConcurrency: 10,
    provisionedConcurrency: 2,
    vpc: { subnetIds: ['subnet-0123456789abcdef0'], securityGroupIds: ['sg-0123456789abcdef0'] },
  },
  'all-options-off': { ...exampleForm(), canary: 'off', reservedConcurrency: 0 },
  'key-given-back': {
    ...exampleForm(),
    keyArn: 'arn:aws:kms:eu-west-1:111111111111:key/01234567-89ab-cdef-0123-456789abcdef',
  },
};
