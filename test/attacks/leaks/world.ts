import { randomUUID } from 'node:crypto';
import { type AttributeValue, DeleteItemCommand, DynamoDBClient, GetItemCommand } from '@aws-sdk/client-dynamodb';
import { expect, vi } from 'vitest';
import { createDynamoDB } from '../../../functions/aws/dynamodb.ts';
import { createHttpsSender } from '../../../functions/aws/https/sender.ts';
import { createSecretsManager } from '../../../functions/aws/secrets-manager.ts';
import type { Service } from '../../../functions/broker/service.ts';
import type { SendHttp } from '../../../functions/broker/token-request/send-http.ts';
import { createTokenFunction } from '../../../functions/token-function.ts';
import { type ProblemType, sealingKeyName } from '../../../functions/vocabulary.ts';
import { createTables, ensurePairTable } from '../../../local/aws/dynamodb.ts';
import { createSecrets } from '../../../local/aws/secrets-manager.ts';
import { serveAws } from '../../../local/aws/server.ts';
import { type FaultOf, startFaultyEndpoint } from '../../support/aws/faulty-endpoint.ts';
import { CONTEXT, functionUrlEvent } from '../../support/aws/function-url-events.ts';
import { ACCESS, exampleRule, exampleService } from '../../support/example.ts';
import { EXAMPLE_KEY } from '../../support/processes/stand-ins.ts';
import { startRawServer } from '../../support/services/raw-server.ts';
import { http, type Reply, write } from '../hostile-answers.ts';
import { findLeaks, marksOf, type Spelling } from './marks.ts';
import { captureOutput } from './output.ts';

/** The outcome of the first answer. */
export type Outcome = 'issued' | ProblemType;

/** One way through the token function. A step that is left out succeeds. */
export interface Path {
  /** The text of the client's secret, or its bytes. */
  readonly secret?: string | Uint8Array;
  readonly sealingKey?: string | Uint8Array;
  /** The token endpoint's reaction to a token request. */
  readonly reply?: Reply;
  readonly service?: Partial<Service>;
  /** How calls of AWS go wrong. */
  readonly faultOf?: FaultOf;
  /** How calls of AWS go wrong a minute after the first answer, when the same instance is asked again. */
  readonly outageOf?: FaultOf;
  /** Changes of the event. */
  readonly event?: Readonly<Record<string, unknown>>;
  /** Instead of a token endpoint that replies, and of all of AWS. */
  readonly authUrl?: string;
  readonly awsUrl?: string;
  /** Leaves out the second instance and the check: where a lease is not released, both would wait for its end. */
  readonly isAlone?: boolean;
  /** Instead of the sender of token requests. */
  readonly send?: SendHttp;
}

/** The token function as it runs in Lambda, with its own clients of AWS, on stand-ins that fail as they are told. */
export async function startLeakWorld(spelling: Spelling) {
  const marks = marksOf(spelling);
  const secrets = createSecrets();
  const server = await serveAws([createTables(), secrets], { keys: [EXAMPLE_KEY] });
  const aws = await startFaultyEndpoint(server.url);
  const table = new DynamoDBClient({ ...ACCESS, endpoint: server.url });
  await ensurePairTable(table, TABLE);
  let walks = 0;

  return {
    marks,
    close: async () => {
      table.destroy();
      await Promise.all([aws.close(), server.close()]);
    },
    /**
     * Sends a request to two instances, one after the other, and checks the credential besides; finds the outcome in
     * the answer and in the log, and no mark in anything that a reader could find afterwards.
     */
    async expectSilence(path: Path, outcome: Outcome): Promise<void> {
      const { secret = credentialOf(marks.clientId, marks.secret), sealingKey = marks.sealingKey, awsUrl } = path;
      const { reply = json(200, { access_token: marks.token, expires_in: 3_600 }) } = path;
      const written = captureOutput();
      const environment = `environment-${++walks}`;
      put(`token-broker/${environment}/acme`, secret);
      put(sealingKeyName(environment), sealingKey);
      const authUrl = path.authUrl ?? (await startServer({ onRequest: reply })).replace('https', 'http');
      await table.send(new DeleteItemCommand({ TableName: TABLE, Key: KEY }));
      aws.failWhere(path.faultOf ?? (() => undefined));
      if (path.outageOf) vi.useFakeTimers({ toFake: ['Date'] });
      aws.calls.length = 0;

      const endpoint = awsUrl ?? aws.url;
      const answers = await askAll(path, outcome, createInstances({ ...path, environment, authUrl, endpoint }));
      // Work left behind ends, so that a rejection without a handler is seen.
      for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      vi.useRealTimers();
      const { Item = {} } = await table.send(new GetItemCommand({ TableName: TABLE, Key: KEY }));
      const calls = { 'calls of AWS': JSON.stringify(aws.calls) };
      expect(written.stdout).toContain(`"outcome":"${outcome}"`);
      expect(findLeaks({ ...written, ...calls, answers, 'the item': dumpOf(Item) }, spelling)).toEqual([]);
      expect(written.unhandled).toBe('');
    },
  };

  /** Asks the instances, and returns what they answer, without tokens. */
  async function askAll({ event = {}, isAlone, outageOf }: Path, outcome: Outcome, start: () => Promise<Handler>) {
    const check = { rawPath: '/check' };
    const usual = isAlone ? [[event]] : [[event], [event, check]];
    let answers = '';
    for (const changes of outageOf ? [[event, event, check]] : usual) {
      const handler = await start();
      for (const change of changes) {
        const answer = await ask(handler, change);
        if (answers === '' || (outageOf && change === event)) expect(outcomeOf(answer), answer.body).toBe(outcome);
        answers += textOf(answer, change);
        if (outageOf === undefined) continue;
        aws.failWhere(outageOf);
        vi.setSystemTime(Date.now() + 60_000);
      }
    }
    return answers;
  }

  /** Sends a request for the pair, signed with temporary keys. */
  function ask(handler: Handler, changes: Changes): ReturnType<Handler> {
    const headers = { 'content-type': 'application/json', 'x-amz-security-token': marks.sessionToken };
    const input = functionUrlEvent({ client: 'acme', service: SERVICE }, { headers, ...changes });
    return handler(input, CONTEXT);
  }

  /** An answer without its token: the one place where a token may stand. */
  function textOf({ statusCode, headers, body }: Answer, { rawPath }: Changes): string {
    const { access_token: token, ...rest } = JSON.parse(body);
    if (statusCode === 200 && rawPath !== '/check') expect(token).toBe(marks.token);
    return JSON.stringify([headers, statusCode === 200 ? rest : body]);
  }

  function put(name: string, value: string | Uint8Array): void {
    const SecretBinary = Buffer.from(value).toString('base64');
    const content = typeof value === 'string' ? { SecretString: value } : { SecretBinary };
    secrets.store.create(name).versions.add(randomUUID(), content);
  }
}

type Handler = ReturnType<typeof createTokenFunction>['handler'];
type Answer = Awaited<ReturnType<Handler>>;
type Changes = NonNullable<Path['event']>;

function outcomeOf({ statusCode, body }: Answer): unknown {
  return statusCode === 200 ? 'issued' : JSON.parse(body).type;
}

interface InstanceOptions extends Pick<Path, 'send' | 'service'> {
  readonly environment: string;
  readonly authUrl: string;
  readonly endpoint: string;
}

/** Returns the start of an instance, with the connections that all of them share. */
function createInstances({ environment, authUrl, endpoint, send = createHttpsSender(), service }: InstanceOptions) {
  const access = { ...ACCESS, send: createHttpsSender({ keepAlive: true }), endpoint };
  return async (): Promise<Handler> => {
    const { handler, readFirst } = createTokenFunction({
      dynamodb: createDynamoDB(access),
      secretsManager: createSecretsManager(access),
      environment,
      tableName: TABLE,
      send,
      settings: {
        services: { [SERVICE]: exampleService({ authUrl, ...service }) },
        accessRules: [exampleRule({ clients: 'all', operations: ['token', 'check'] })],
        provenForSeconds: 0,
      },
    });
    await readFirst();
    return handler;
  };
}

const SERVICE = 'customer-insights';
const TABLE = 'pairs';
const KEY = { pair: { S: `acme/${SERVICE}` } };

/** Starts a server until the end of the test, and gives its URL as one that speaks TLS. */
export async function startServer(behaviour: Parameters<typeof startRawServer>[0]): Promise<string> {
  return `https://localhost:${(await startRawServer(behaviour)).port}`;
}

/** Answers with a JSON body. */
export function json(status: number, members: unknown): Reply {
  return write(http(status, JSON.stringify(members)));
}

export function credentialOf(client_id: string, secret: string): string {
  return JSON.stringify({ services: 'all', client_id, secret });
}

/** All attributes as text; bytes in the encodings that code might print them in. */
export function dumpOf(item: Readonly<Record<string, AttributeValue>>): string {
  const bytes = Object.values(item).flatMap(({ B }) => (B === undefined ? [] : [Buffer.from(B)]));
  const texts = bytes.flatMap((each) => [each.toString('latin1'), each.toString('base64'), each.toString('hex')]);
  return [JSON.stringify(item), ...texts].join('\n');
}
