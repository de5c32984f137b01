import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { BrokerSettings } from '../../functions/variables.ts';
import { sealingKeyName } from '../../functions/vocabulary.ts';
import { ensurePairTable } from '../../local/aws/dynamodb.ts';
import { startFunctionUrl } from '../../local/function-url/server.ts';
import { startTokenService } from '../../local/token-service/server.ts';
import { startCodeDeploy } from '../support/aws/codedeploy.ts';
import type { LambdaAnswer, LambdaOrder } from '../support/processes/lambda-process-main.ts';
import { startProgram } from '../support/processes/program.ts';
import { startDynamoDB, startSecretsManager, startSns, startSts } from '../support/processes/stand-ins.ts';
import { deployed, finder } from '../support/stack/deployed-stack.ts';
import { type Synthesised, synthesise } from '../support/stack/synthesise.ts';
import { exampleForm } from '../unit/settings/example-form.ts';

const ENVIRONMENT = 'test';
const { account, region, services } = exampleForm();
const FUNCTIONS = { token: 'TokenEndpoint', health: 'CredentialHealth', releaseCheck: 'ReleaseCheck' } as const;

/** The credential of `acme`, which the services accept. */
const CREDENTIAL = { client_id: 'acme-id', secret: 'marked-secret', services: 'all' };

/** Options of Node that an operator may set, for the size of the memory. */
const NODE_OPTIONS = '--enable-source-maps --max-old-space-size=400 --max-semi-space-size=8';

/** A role that an access rule names. */
export const BILLING = roleKey(`arn:aws:iam::${account}:role/billing`);

/**
 * Deploys an environment to this machine: the template and the assets that `cdk synth` makes, with stand-ins for AWS and
 * for the services. Its settings differ from real ones only in where the services are.
 */
export async function deployWorld() {
  const closers: (() => unknown)[] = [];
  const started = async <T extends { readonly close: () => unknown }>(starting: Promise<T>): Promise<T> => {
    const one = await starting;
    closers.push(one.close);
    return one;
  };

  const accepted = [{ client: 'acme', ...CREDENTIAL }];
  const tokenService = await started(
    startTokenService({ credentials: Object.fromEntries(Object.keys(services).map((name) => [name, accepted])) }),
  );
  const { assets, find } = bundledFor(tokenService.authUrl);

  const probe = roleKey(find('CredentialHealthProbe', 'AWS::IAM::Role').arn);
  const topicArn = find('OperatorTopic', 'AWS::SNS::Topic').ref;
  const functionOf = (name: keyof typeof FUNCTIONS) => find(FUNCTIONS[name], 'AWS::Lambda::Function').properties;
  const operator = roleKey(`arn:aws:iam::${account}:role/operator`);
  const keyOf = (name: keyof typeof FUNCTIONS) => roleKey(functionOf(name).Role);
  const keys = [
    ...[operator, keyOf('token')].map((key) => ({ ...key, mayReadSecrets: true })),
    ...[keyOf('health'), keyOf('releaseCheck')].map((key) => ({ ...key, mayReadSecrets: false })),
  ];
  const secrets = await started(startSecretsManager({ keys }));
  const dynamodb = await started(startDynamoDB({ keys }));
  const sns = await started(startSns(topicArn));
  const sts = await started(startSts(probe));
  const codedeploy = await started(startCodeDeploy({ keys }));
  const urls = { CODEDEPLOY: codedeploy, SECRETS_MANAGER: secrets, DYNAMODB: dynamodb, SNS: sns, STS: sts };
  const endpoints = Object.fromEntries(Object.entries(urls).map(([api, { url }]) => [`AWS_ENDPOINT_URL_${api}`, url]));

  // The resources of CloudFormation, then the secrets of an operator.
  const table = new DynamoDBClient({ region, credentials: operator, endpoint: dynamodb.url });
  await ensurePairTable(table, find('PairTable', 'AWS::DynamoDB::Table').ref);
  table.destroy();
  secrets.store.put(sealingKeyName(ENVIRONMENT), btoa('k'.repeat(48)));
  secrets.store.put(`token-broker/${ENVIRONMENT}/acme`, JSON.stringify(CREDENTIAL));

  /** The variables of a function as the template has them, with the one that only this deployment knows. */
  const variablesOf = (name: keyof typeof FUNCTIONS): Readonly<Record<string, string>> => ({
    ...functionOf(name).Environment.Variables,
    ...(name === 'health' && { TOKEN_BROKER_URL: url }),
    ...(name === 'releaseCheck' && { TOKEN_BROKER_URL: next.url }),
  });
  /**
   * Starts a function from its code asset alone, where nothing is installed, with these variables, those that Lambda
   * itself sets, and no others. Throws with the output of the process when it does not come up.
   */
  const start = async (
    name: keyof typeof FUNCTIONS,
    variables: Readonly<Record<string, string>> = { ...variablesOf(name), NODE_OPTIONS },
  ) => {
    const { FunctionName, Handler, MemorySize, Timeout } = functionOf(name);
    const directory = mkdtempSync(path.join(tmpdir(), 'token-broker-test-'));
    closers.push(() => rmSync(directory, { recursive: true }));
    for (const [file, text] of Object.entries(assets[FunctionName] ?? {}))
      writeFileSync(path.join(directory, file), text);
    // Where Lambda unpacks an asset is not for a test to write to.
    const declared = Object.entries(variables).map(([key, text]) => [
      key,
      text.replace(/^\/var\/task(?=\/)/, directory),
    ]);
    const { accessKeyId, secretAccessKey, sessionToken } = keyOf(name);
    const env = {
      ...Object.fromEntries(declared),
      ...endpoints,
      ...RUNTIME,
      _HANDLER: Handler,
      AWS_ACCESS_KEY_ID: accessKeyId,
      AWS_SECRET_ACCESS_KEY: secretAccessKey,
      AWS_SESSION_TOKEN: sessionToken,
      AWS_LAMBDA_FUNCTION_NAME: FunctionName,
      AWS_LAMBDA_FUNCTION_MEMORY_SIZE: `${MemorySize}`,
      LAMBDA_TASK_ROOT: directory,
    };
    const { order, written, kill } = startProgram<LambdaOrder, LambdaAnswer>(PROGRAM, [], { cwd: directory, env });
    closers.push(kill);
    await order({});
    return {
      /** Calls the handler; returns its result or throws its error. */
      invoke: async (event: unknown) => (await order({ event, timeoutMs: Timeout * 1_000 })).result,
      /** The modules of Node that the process has loaded. */
      modules: async () => `${await order({})}`.split(','),
      written,
    };
  };

  const token = await start('token');
  const callers = [BILLING, probe, keyOf('health')];
  const { url } = await started(startFunctionUrl({ handler: token.invoke, callers, port: 0 }));
  const next = await started(startFunctionUrl({ handler: token.invoke, callers: [keyOf('releaseCheck')], port: 0 }));
  const functions = { token, health: await start('health'), releaseCheck: await start('releaseCheck') };

  return {
    url,
    functions,
    codedeploy,
    /** Starts one more process of a function. */
    start,
    variablesOf,
    tokenService,
    close: async () => {
      for (const close of closers.toReversed()) await close();
    },
  };
}

const PROGRAM = new URL('../support/processes/lambda-process-main.ts', import.meta.url);

/** @see https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html#configuration-envvars-runtime */
const RUNTIME = {
  AWS_REGION: region,
  AWS_DEFAULT_REGION: region,
  AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs24.x',
  AWS_LAMBDA_FUNCTION_VERSION: '1',
  AWS_LAMBDA_INITIALIZATION_TYPE: 'on-demand',
  TZ: ':UTC',
  LANG: 'en_US.UTF-8',
  PATH: '/usr/local/bin:/usr/bin:/bin',
};

/** Synthesises the example, its services at their addresses on this machine. */
function bundledFor(authUrl: (service: string) => string) {
  const { template, assets } = synthesise(ENVIRONMENT, exampleForm(), { bundled: true });
  const token = assets['token-broker-test'] ?? {};
  const settings: BrokerSettings = JSON.parse(token['settings.json'] ?? '');
  const moved = Object.entries(settings.services).map(([name, one]) => [name, { ...one, authUrl: authUrl(name) }]);
  const json = JSON.stringify({ ...settings, services: Object.fromEntries(moved) });
  const all: Synthesised['assets'] = { ...assets, 'token-broker-test': { ...token, 'settings.json': json } };
  return { assets: all, find: finder(deployed({ template })) };
}

/** Keys that are made up from the role's name, with a mark that nothing may show. */
function roleKey(role = '') {
  const name = role.replaceAll(/^.*\/|[^A-Za-z0-9]/g, '').toUpperCase();
  const secrets = { secretAccessKey: `marked-key-${name}`, sessionToken: `marked-session-${name}` };
  return { role, accessKeyId: `ASIA${name}`, ...secrets };
}
