import type { SecretsManager } from '@aws-sdk/client-secrets-manager';

/** One call of the real SDK about a secret; `name` belongs to the scenario alone. */
export type Call = (aws: SecretsManager, name: string) => Promise<unknown>;

/** Version ids are chosen by the caller, so that the answers of two servers can be compared. */
const V1 = '11111111-1111-4111-8111-111111111111';
const V2 = '22222222-2222-4222-8222-222222222222';
const V3 = '33333333-3333-4333-8333-333333333333';

const create: Call = (aws, Name) => aws.createSecret({ Name, SecretString: 'one', ClientRequestToken: V1 });

const createEmpty: Call = (aws, Name) => aws.createSecret({ Name });

function put(ClientRequestToken: string, SecretString: string, ...VersionStages: string[]): Call {
  const stages = VersionStages.length > 0 ? { VersionStages } : {};
  return (aws, SecretId) => aws.putSecretValue({ SecretId, ClientRequestToken, SecretString, ...stages });
}

function get(VersionStage?: string, VersionId?: string): Call {
  return (aws, SecretId) => aws.getSecretValue({ SecretId, VersionStage, VersionId });
}

const describeSecret: Call = (aws, SecretId) => aws.describeSecret({ SecretId });

function move(VersionStage: string, RemoveFromVersionId?: string, MoveToVersionId?: string): Call {
  return (aws, SecretId) =>
    aws.updateSecretVersionStage({ SecretId, VersionStage, RemoveFromVersionId, MoveToVersionId });
}

const deleteSecret: Call = (aws, SecretId) => aws.deleteSecret({ SecretId });

const restore: Call = (aws, SecretId) => aws.restoreSecret({ SecretId });

const getPolicy: Call = (aws, SecretId) => aws.getResourcePolicy({ SecretId });

function putPolicy(ResourcePolicy: string): Call {
  return (aws, SecretId) => aws.putResourcePolicy({ SecretId, ResourcePolicy });
}

const deletePolicy: Call = (aws, SecretId) => aws.deleteResourcePolicy({ SecretId });

/** The role that the tests' own key belongs to, as far as a server can be told. */
export const ROLE = 'arn:aws:iam::111111111111:role/token-broker-local';

/** A policy that keeps a role from the value of a secret. */
function denial(role: string): string {
  const Condition = { ArnEquals: { 'aws:PrincipalArn': role } };
  const statement = {
    Effect: 'Deny',
    Principal: '*',
    Action: 'secretsmanager:GetSecretValue',
    Resource: '*',
    Condition,
  };
  return JSON.stringify({ Version: '2012-10-17', Statement: [statement] });
}

function list(beginning: string): Call {
  return (aws, name) => aws.listSecrets({ Filters: [{ Key: 'name', Values: [name + beginning] }] });
}

/** What the stand-in and moto must answer alike. */
export const SAME: Readonly<Record<string, readonly Call[]>> = {
  'a new secret has one version, AWSCURRENT': [create, get(), get('AWSCURRENT'), get(undefined, V1), describeSecret],

  'a put makes its version AWSCURRENT and the one before AWSPREVIOUS': [
    create,
    put(V2, 'two'),
    get(),
    get('AWSPREVIOUS'),
    describeSecret,
  ],

  'a secret without a value has no version': [createEmpty, get(), describeSecret, put(V1, 'one', 'AWSPENDING'), get()],

  'the third version leaves the first without a stage, but readable by its id': [
    create,
    put(V2, 'two'),
    put(V3, 'three'),
    get('AWSPREVIOUS'),
    get(undefined, V1),
  ],

  'secrets are listed by the beginning of their name, page by page': [
    (aws, name) => aws.createSecret({ Name: `${name}/a`, SecretString: 'one', ClientRequestToken: V1 }),
    (aws, name) => aws.createSecret({ Name: `${name}/b`, SecretString: 'one', ClientRequestToken: V1 }),
    (aws, name) => aws.createSecret({ Name: `${name}/c`, SecretString: 'one', ClientRequestToken: V1 }),
    list('/'),
    list('/no-such-name'),
    async (aws, name) => {
      const options = { MaxResults: 2, Filters: [{ Key: 'name' as const, Values: [`${name}/`] }] };
      const { NextToken, SecretList: first } = await aws.listSecrets(options);
      const { SecretList: second } = await aws.listSecrets({ ...options, NextToken });
      return { first, second };
    },
  ],

  'a put as AWSPENDING leaves the others alone and replaces an older AWSPENDING': [
    create,
    put(V2, 'two', 'AWSPENDING'),
    get(),
    put(V3, 'three', 'AWSPENDING'),
    get(),
    get('AWSPENDING'),
    get('AWSPREVIOUS'),
  ],

  'AWSPENDING is promoted by moving AWSCURRENT to it': [
    create,
    put(V2, 'two', 'AWSPENDING'),
    move('AWSCURRENT', V1, V2),
    get('AWSCURRENT'),
    get('AWSPREVIOUS'),
    get('AWSPENDING'),
    move('AWSPENDING', V2),
    get('AWSPENDING'),
    describeSecret,
  ],

  'AWSCURRENT goes back to AWSPREVIOUS, and the two swap': [
    create,
    put(V2, 'two'),
    move('AWSCURRENT', V2, V1),
    get('AWSCURRENT'),
    get('AWSPREVIOUS'),
    describeSecret,
  ],

  'AWSCURRENT moves only from the version that has it': [
    create,
    put(V2, 'two', 'AWSPENDING'),
    move('AWSCURRENT', undefined, V2),
    move('AWSCURRENT', V2, V1),
    move('AWSCURRENT', V1, V3),
  ],

  'the same put twice is one version, and a version never changes': [
    create,
    put(V2, 'two'),
    put(V2, 'two'),
    put(V2, 'other'),
    get(),
    describeSecret,
  ],

  'a name is taken once, except by the same call again': [
    create,
    create,
    (aws, Name) => aws.createSecret({ Name, SecretString: 'other', ClientRequestToken: V1 }),
    (aws, Name) => aws.createSecret({ Name, SecretString: 'one', ClientRequestToken: V2 }),
  ],

  'what does not exist is not found': [
    get(),
    describeSecret,
    put(V1, 'one'),
    move('AWSCURRENT', V1, V2),
    deleteSecret,
    restore,
    (aws, SecretId) => aws.tagResource({ SecretId, Tags: [] }),
    create,
    get('AWSPENDING'),
    get(undefined, V2),
    get('AWSPENDING', V1),
  ],

  'a secret marked for deletion cannot be read until it is restored': [
    create,
    deleteSecret,
    get('AWSCURRENT'),
    list(''),
    (aws, name) => aws.listSecrets({ Filters: [{ Key: 'name', Values: [name] }], IncludePlannedDeletion: true }),
    deleteSecret,
    restore,
    get('AWSCURRENT'),
    list(''),
  ],

  'tags are added, replaced and removed': [
    create,
    (aws, SecretId) =>
      aws.tagResource({
        SecretId,
        Tags: [
          { Key: 'services', Value: 'a b' },
          { Key: 'owner', Value: 'x' },
        ],
      }),
    (aws, SecretId) => aws.tagResource({ SecretId, Tags: [{ Key: 'services', Value: 'a' }] }),
    describeSecret,
    (aws, SecretId) => aws.untagResource({ SecretId, TagKeys: ['services', 'missing'] }),
    describeSecret,
    list(''),
  ],

  'a resource policy is put, replaced and deleted': [
    create,
    getPolicy,
    putPolicy(denial(`${ROLE}-1`)),
    getPolicy,
    putPolicy(denial(`${ROLE}-2`)),
    getPolicy,
    get(),
    deletePolicy,
    getPolicy,
    deletePolicy,
  ],
};

interface Difference {
  readonly calls: readonly Call[];
  /** What AWS, and so the stand-in, gives as the last answer. */
  readonly aws: object;
}

const promoted = [create, put(V2, 'two', 'AWSPENDING'), move('AWSCURRENT', V1, V2)];

/** Where moto 5 is not like AWS, which the stand-in follows; each is named by what moto does. */
export const MOTO_DIFFERENCES: Readonly<Record<string, Difference>> = {
  'after UpdateSecretVersionStage, a read without a stage answers AWSPREVIOUS': {
    calls: [...promoted, get()],
    aws: { VersionId: V2, SecretString: 'two' },
  },
  'UpdateSecretVersionStage puts other stages than AWSCURRENT on two versions': {
    calls: [create, put(V2, 'two', 'AWSPENDING'), move('AWSPENDING', undefined, V1)],
    aws: { refused: 'InvalidParameterException' },
  },
  'AWSCURRENT can be removed from a secret': {
    calls: [create, move('AWSCURRENT', V1)],
    aws: { refused: 'InvalidParameterException' },
  },
  'a secret marked for deletion can be changed': {
    calls: [create, deleteSecret, put(V2, 'two')],
    aws: { refused: 'InvalidRequestException' },
  },
  'the name of a secret marked for deletion counts as taken, not as being deleted': {
    calls: [create, deleteSecret, (aws, Name) => aws.createSecret({ Name, SecretString: 'two' })],
    aws: { refused: 'InvalidRequestException' },
  },
  'a policy that denies a role the value does not keep any caller out': {
    calls: [create, putPolicy(denial(ROLE)), get('AWSCURRENT')],
    aws: { refused: 'AccessDeniedException' },
  },
  'a policy may be any text': {
    calls: [create, putPolicy('no policy')],
    aws: { refused: 'MalformedPolicyDocumentException' },
  },
  'the policy of a secret marked for deletion can be changed': {
    calls: [create, deleteSecret, putPolicy(denial(ROLE))],
    aws: { refused: 'InvalidRequestException' },
  },
};
