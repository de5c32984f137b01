import { expect, it } from 'vitest';
import { parseSecretEvent } from '../../../functions/aws/client-secrets.ts';
import { eventOf } from '../functions/health-function-world.ts';

const EVENT = eventOf({ name: 'token-broker/test/acme', arn: 'arn', versionId: 'v2', label: 'AWSCURRENT' });
const { detail, ...ENVELOPE } = EVENT;

it('an event of Secrets Manager names the client, and the version that it has now', () => {
  expect(parseSecretEvent(EVENT, 'test')).toEqual({ kind: 'promotion', client: 'acme', version: 'v2' });
});

it.each([
  undefined,
  null,
  7,
  [],
  {},
  { source: 'aws.scheduler' },
  { source: 'aws.s3' },
  [{ source: 'aws.secretsmanager' }],
])('any other event is for a run over all pairs: %j', (event) => {
  expect(parseSecretEvent(event, 'test')).toBeUndefined();
});

it.each([
  { ...EVENT, 'detail-type': 'AWS API Call via CloudTrail' },
  { ...EVENT, 'detail-type': ['Secret Label Updated'] },
  { source: EVENT.source },
  ...['AWSPENDING', 'AWSPREVIOUS', 'my-label'].map(labelUpdated),
  ...['token-broker/prod/acme', 'token-broker/test2/acme', 'token-broker/test', 'token-broker/test/'].map(named),
  ...['token-broker/test/acme/copy', 'token-broker/test/-acme', 'token-broker/test/acme\n'].map(named),
  ...['token-broker-keys/test/sealing', 'other/token-broker/test/acme', 'Token-Broker/test/acme'].map(named),
])('an event that is none of a client of this environment is foreign: %j', (event) => {
  expect(parseSecretEvent(event, 'test')).toEqual({ kind: 'foreign' });
});

it.each([
  ENVELOPE,
  { ...EVENT, detail: null },
  { ...EVENT, detail: JSON.stringify(detail) },
  ...['name', 'labelUpdated', 'versionId'].map((member) => ({ ...EVENT, detail: { ...detail, [member]: undefined } })),
  ...[['token-broker/test/acme'], ''].map(named),
  ...['', 'v2\nforged line', 'v'.repeat(65)].map((versionId) => ({ ...EVENT, detail: { ...detail, versionId } })),
  labelUpdated(''),
])('an event of another shape is malformed: %j', (event) => {
  expect(parseSecretEvent(event, 'test')).toEqual({ kind: 'malformed' });
});

function named(name: unknown) {
  return { ...EVENT, detail: { ...detail, name } };
}

function labelUpdated(label: string) {
  return { ...EVENT, detail: { ...detail, labelUpdated: label } };
}
