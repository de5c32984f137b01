import {
  CreateSecretCommand,
  DescribeSecretCommand,
  PutSecretValueCommand,
  SecretsManagerClient,
} from '@aws-sdk/client-secrets-manager';
import { onTestFinished, test } from 'vitest';
import { createTokenBroker } from '../../../../client/token-broker.ts';
import { createDynamoDB } from '../../../../functions/aws/dynamodb.ts';
import { createHttpsSender } from '../../../../functions/aws/https/sender.ts';
import { createTokenFunction } from '../../../../functions/token-function.ts';
import type { LocalCaller } from '../../../../lib/settings/local-config.ts';
import { LOCAL_ENVIRONMENT, tableName } from '../../../../lib/settings/names.ts';
import { startFunctionUrl } from '../../../../local/function-url/server.ts';
import { startTokenService } from '../../../../local/token-service/server.ts';
import { type FaultOf, startFaultyEndpoint } from '../../../support/aws/faulty-endpoint.ts';
import { startBrokerHere } from '../../../support/processes/broker-here.ts';
import { type Finished, runCommandLine } from './command-line.ts';

export const SERVICES = ['customer-insights', 'merchant-payment-cleansing'] as const;

/** The secret of the only client that a world begins with. */
export const ACME = 'token-broker/local/acme';

/** The credentials of `acme` that the services accept: the one in use, and one that is not stored yet. */
export const OLD = { client_id: 'acme-id', secret: 'marked-old-secret' };
export const NEW = { client_id: 'acme-id-2', secret: 'marked-new-secret' };
export const WRONG = { client_id: 'acme-id', secret: 'marked-wrong-secret' };

const [OPERATOR, BILLING, STRANGER] = ['operator', 'billing', 'stranger'].map((name) => ({
  role: `arn:aws:iam::111111111111:role/${name}`,
  accessKeyId: `AKID${name.toUpperCase()}`,
  secretAccessKey: `marked-${name}-key`,
})) as [LocalCaller, LocalCaller, LocalCaller];

/** A test that may ask for a `world`: a whole local broker of its own. */
export const it = test.extend('world', startOperatorWorld);

/** A local broker for one test, with the client `acme`, and everything that an operator's shell needs to look after it. */
export async function startOperatorWorld() {
  const accepted = [OLD, NEW].map((credential) => ({ client: 'acme', ...credential }));
  const tokenService = await startTokenService({
    credentials: Object.fromEntries(SERVICES.map((service) => [service, accepted])),
  });
  onTestFinished(tokenService.close);
  const broker = await startBrokerHere({
    services: Object.fromEntries(SERVICES.map((service) => [service, { authUrl: tokenService.authUrl(service) }])),
    accessRules: [
      { role: OPERATOR.role, clients: 'all', services: 'all', operations: ['token', 'check'] },
      { role: BILLING.role, clients: ['acme'], services: 'all' },
    ],
    callers: [OPERATOR, BILLING, STRANGER],
    credentials: { acme: { ...OLD, services: SERVICES } },
  });
  const { messages, written, shell, letTimePass, eventsSettled } = broker;
  const secretsManager = new SecretsManagerClient();
  onTestFinished(() => secretsManager.destroy());

  /** Between two of them, so that the broker may try the version of the second and no command waits. */
  function letHalfAMinutePass(): void {
    letTimePass(30_001);
  }

  /** Runs the command line in the operator's shell; no secret may ever be in its output. */
  async function run(command: string, { input, env }: RunOptions = {}): Promise<Finished> {
    if (command.includes('client put')) letHalfAMinutePass();
    const text = typeof input === 'string' || input === undefined ? input : JSON.stringify(input);
    const result = await runCommandLine(command.split(' '), { ...shell, ...env }, text);
    await eventsSettled();
    if (LEAK.test(result.stdout + result.stderr)) throw new Error('a secret was printed');
    return result;
  }

  return {
    letHalfAMinutePass,
    letTimePass,
    tokenService,
    secretsManager,
    shell,
    stranger: { AWS_ACCESS_KEY_ID: STRANGER.accessKeyId, AWS_SECRET_ACCESS_KEY: STRANGER.secretAccessKey },
    /** The lines of the log. */
    written,
    /** The health function's messages to the operators. */
    messages,
    eventsSettled,
    /** Asks for tokens as the role `billing`. */
    caller: createTokenBroker({ url: broker.url, credentials: BILLING, cache: false }),
    /** As with the AWS command line: a secret with a credential for all services, and one service in its tag. */
    async addClient(client: string, service: string, credential: object) {
      const SecretString = JSON.stringify({ ...credential, services: 'all' });
      const Tags = [{ Key: 'services', Value: service }];
      await secretsManager.send(new CreateSecretCommand({ Name: `token-broker/local/${client}`, SecretString, Tags }));
    },
    /** As with the AWS command line: stores a version of acme's credential for all services, and returns its id. */
    async store(credential: object, ...stages: string[]) {
      const SecretString = JSON.stringify({ ...credential, services: 'all' });
      const VersionStages = stages.length > 0 ? stages : ['AWSPENDING'];
      const command = new PutSecretValueCommand({ SecretId: ACME, SecretString, VersionStages });
      return (await secretsManager.send(command)).VersionId ?? '';
    },
    /** Returns which version of a secret has which stage, by stage, and its services if they are tagged. */
    async describe(SecretId = ACME): Promise<Readonly<Record<string, string>>> {
      const { VersionIdsToStages = {}, Tags } = await secretsManager.send(new DescribeSecretCommand({ SecretId }));
      const stages = Object.entries(VersionIdsToStages).flatMap(([id, all]) => all.map((stage) => [stage, id]));
      const services = Tags?.find(({ Key }) => Key === 'services')?.Value;
      return { ...Object.fromEntries(stages), ...(services !== undefined && { services }) };
    },
    /** Starts one more instance of the broker, with the table or with `endpoint` in its place; asks it as `billing`. */
    async newInstance(endpoint = process.env.AWS_ENDPOINT_URL) {
      const { handler } = createTokenFunction({
        environment: LOCAL_ENVIRONMENT,
        tableName: tableName(LOCAL_ENVIRONMENT),
        settings: broker.config,
        write: () => undefined,
        dynamodb: createDynamoDB({ send: createHttpsSender(), environment: LOCAL_ENVIRONMENT, endpoint }),
      });
      const { url, close } = await startFunctionUrl({ handler, callers: [BILLING], port: 0 });
      onTestFinished(close);
      return createTokenBroker({ url, credentials: BILLING, cache: false, maxAttempts: 1 });
    },
    run,
    /** Runs it with `--json`; gives the document that it answers. */
    json: async (command: string, options?: RunOptions) => JSON.parse((await run(`${command} --json`, options)).stdout),
  };
}

/** A secret as it is, and as Basic authentication and URLs carry it. */
const LEAK = new RegExp(
  ['marked-', ...[OLD, NEW, WRONG].flatMap(({ client_id, secret }) => [btoa(`${client_id}:${secret}`), btoa(secret)])]
    .map((text) => text.replace(/=+$/, ''))
    .join('|'),
);

/** Starts an endpoint before a stand-in of the local broker, until the end of the test, and names it in a variable. */
export async function inFrontOf(service: 'DYNAMODB' | 'SECRETS_MANAGER', faultOf: FaultOf = () => undefined) {
  const endpoint = await startFaultyEndpoint(`${process.env.AWS_ENDPOINT_URL}`);
  onTestFinished(endpoint.close);
  endpoint.failWhere(faultOf);
  return { ...endpoint, env: { [`AWS_ENDPOINT_URL_${service}`]: endpoint.url } };
}

export interface RunOptions {
  /** For standard input; an object goes as JSON. */
  readonly input?: object | string | undefined;
  readonly env?: Readonly<Record<string, string>>;
}

export type OperatorWorld = Awaited<ReturnType<typeof startOperatorWorld>>;
