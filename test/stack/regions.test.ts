import { expect, it } from 'vitest';
import { synthesise } from '../support/stack/synthesise.ts';
import { exampleForm } from '../unit/settings/example-form.ts';

const CHINA = {
  ...exampleForm(),
  region: 'cn-north-1',
  accessRules: [{ role: 'arn:aws-cn:iam::111111111111:role/billing', clients: ['acme'], services: 'all' }],
};

/** The variables of the function with the name that call AWS without the SDK's client. */
function endpointsOf(form: unknown, name: string): Readonly<Record<string, string>> {
  const functions = Object.values(synthesise('test', form).template.Resources);
  const variables = functions.find(({ Properties }) => Properties?.FunctionName === name)?.Properties.Environment
    .Variables;
  return Object.fromEntries(Object.entries<string>(variables).filter(([key]) => key.startsWith('AWS_ENDPOINT_URL')));
}

it.each(['token-broker-test', 'token-broker-release-check-test'])('%s knows the hosts of a region in China', (name) => {
  expect(endpointsOf(CHINA, name)).toEqual({
    AWS_ENDPOINT_URL_CODEDEPLOY: 'https://codedeploy.cn-north-1.amazonaws.com.cn',
    AWS_ENDPOINT_URL_DYNAMODB: 'https://dynamodb.cn-north-1.amazonaws.com.cn',
    AWS_ENDPOINT_URL_SECRETS_MANAGER: 'https://secretsmanager.cn-north-1.amazonaws.com.cn',
  });
  expect(endpointsOf(exampleForm(), name)).toEqual({});
});
