import { type AttributeValue, DeleteItemCommand, DynamoDBClient, GetItemCommand } from '@aws-sdk/client-dynamodb';
import { CreateSecretCommand } from '@aws-sdk/client-secrets-manager';
import { expect, onTestFinished } from 'vitest';
import { ensurePairTable } from '../../bin/local/aws/dynamodb.ts';
import { createDynamoDB } from '../../functions/aws/dynamodb.ts';
import { createHttpsSender } from '../../functions/aws/https/sender.ts';
import { createSecretsManagerClient } from '../../functions/aws/secrets-manager.ts';
import type { Service } from '../../functions/broker/service.ts';
import type { Send } from '../../functions/broker/token-request/send.ts';
import { type ProblemType, sealingKeyName } from '../../functions/contract.ts';
import { createTokenFunction } from '../../functions/token-function.ts';
import { type FaultOf, startFaultyEndpoint } from '../support/dynamodb.ts';
import { exampleRule, exampleService } from '../support/example.ts';
import { CONTEXT, functionUrlEvent } from '../support/function-url-events.ts';
import { startRawServer } from '../support/raw-server.ts';
import { startDynamoDB, startSecretsManager } from '../support/stand-ins.ts';
import { http, type Reply, write } from './hostile-answers.ts';
import { findLeaks, marksOf, type Spelling } from './leak-marks.ts';
import { captureOutput, type Output } from './leak-output.ts';

/** What the first answer says. */
export type Outcome = 'issued' | ProblemType;

export type LeakWorld = Awaited<ReturnType<typeof startLeakWorld>>;

/** One way through the token function. A step that is left out succeeds. */
export interface Path {
  /** The text of the client's secret, or its bytes. */
  readonly secret?: string | Uint8Array;
  /** The text of the sealing key. */
  readonly sealingKey?: string | Uint8Array;
  /** What the token endpoint does with a token request. */
  readonly reply?: Reply;
  readonly service?: Partial<Service>;
  /** How calls of AWS go wrong. */
  readonly faultOf?: FaultOf;
  /** Changes of the events, each a request of its own; one plain request when left out. */
  readonly events?: readonly Readonly<Record<string, unknown>>[];
  /** Instead of a token endpoint that replies. */
  readonly authUrl?: string;
  /** Instead of all of AWS. */
  readonly awsUrl?: string;
  /** Leaves out the second environment and the check: where a lease is not released, both would wait for its end. */
  readonly isAlone?: boolean;
  /** Instead of the sender of token requests. */
  readonly send?: Send;
}

/** What came of it: everything that a reader could find afterwards, by where it stands. */
interface Walked {
  readonly texts: Readonly<Record<string, string>>;
  readonly answers: readonly Answered[];
  readonly output: Output;
}

interface Answered {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

/** The token function as it runs in Lambda, with its own clients of AWS, on stand-ins that fail as they are told. */
export async function startLeakWorld(spelling: Spelling) {
  const marks = marksOf(spelling);
  const targets = { dynamodb: await startDynamoDB(), secrets: await startSecretsManager() };
  const fronts = {
    dynamodb: await startFaultyEndpoint(targets.dynamodb.url),
    secrets: await startFaultyEndpoint(targets.secrets.url),
  };
  const good = {
    dynamodb: new DynamoDBClient({ ...ACCESS, endpoint: targets.dynamodb.url }),
    secrets: createSecretsManagerClient({ ...ACCESS, endpoint: targets.secrets.url }),
  };
  await ensurePairTable(good.dynamodb, TABLE);
  let walks = 0;

  const world = {
    marks,
    spelling,
    close: async () => {
      for (const client of Object.values(good)) client.destroy();
      await Promise.all([...Object.values(fronts), ...Object.values(targets)].map(({ close }) => close()));
    },

    /** Sends the path's requests to two environments, one after the other, and checks the credential besides. */
    async walk(path: Path = {}): Promise<Walked> {
      const { secret = credentialOf(marks.clientId, marks.secret), sealingKey = marks.sealingKey } = path;
      const {
        reply = json(200, { access_token: marks.token, expires_in: 3_600 }),
        service = {},
        events = [{}],
        faultOf = () => undefined,
      } = path;
      const rounds = path.isAlone ? ['only'] : ['first', 'second'];
      const output = captureOutput();
      const environment = `environment-${++walks}`;
      await store(`token-broker/${environment}/acme`, secret);
      await store(sealingKeyName(environment), sealingKey);
      const { authUrl = await startTokenEndpoint(reply) } = path;
      await good.dynamodb.send(new DeleteItemCommand({ TableName: TABLE, Key: KEY }));

      const clients = {
        dynamodb: createDynamoDB({
          ...ACCESS,
          send: createHttpsSender(),
          endpoint: path.awsUrl ?? fronts.dynamodb.url,
        }),
        secretsManager: createSecretsManagerClient({ ...ACCESS, endpoint: path.awsUrl ?? fronts.secrets.url }),
      };
      onTestFinished(() => clients.secretsManager.destroy());
      const calls = { dynamodb: fronts.dynamodb.calls.length, secrets: fronts.secrets.calls.length };
      fronts.dynamodb.failWhere(faultOf);
      fronts.secrets.failWhere(faultOf);

      const answers: Answered[] = [];
      let answered = '';
      for (const round of rounds) {
        const { handler, readFirst } = createTokenFunction({
          ...clients,
          environment,
          tableName: TABLE,
          send: path.send ?? createHttpsSender(),
          settings: {
            services: { [SERVICE]: exampleService({ authUrl, ...service }) },
            accessRules: [exampleRule({ clients: 'all', operations: ['token', 'check'] })],
            provenForSeconds: 0,
          },
        });
        await readFirst();
        const checks = round === 'second' ? [{ rawPath: '/check' }] : [];
        for (const changes of [...events, ...checks]) {
          const { statusCode, headers, body } = await handler(eventOf(marks.sessionToken, changes), CONTEXT);
          const { access_token: token, ...rest } = JSON.parse(body);
          if (statusCode === 200 && changes.rawPath !== '/check') expect(token).toBe(marks.token);
          // The one place where a token may stand.
          answered += JSON.stringify([headers, statusCode === 200 ? rest : body]);
          answers.push({ status: statusCode, body: rest });
        }
      }
      await settled();

      const { Item = {} } = await good.dynamodb.send(new GetItemCommand({ TableName: TABLE, Key: KEY }));
      return {
        answers,
        output,
        texts: {
          ...output.written,
          answers: answered,
          'calls of DynamoDB': JSON.stringify(fronts.dynamodb.calls.slice(calls.dynamodb)),
          'calls of Secrets Manager': JSON.stringify(fronts.secrets.calls.slice(calls.secrets)),
          'the item': dumpOf(Item),
        },
      };
    },

    /** Walks the path, finds its outcome in the answer and in the log, and no mark anywhere. */
    async expectSilence(path: Path, outcome: Outcome): Promise<void> {
      const { texts, answers, output } = await world.walk(path);
      const [{ status, body } = { status: 0, body: {} }] = answers;
      expect(status === 200 ? 'issued' : body.type, JSON.stringify(body)).toBe(outcome);
      expect(texts.stdout).toContain(`"outcome":"${outcome}"`);
      expect(findLeaks(texts, spelling)).toEqual([]);
      expect(output.unhandled()).toBe(0);
    },
  };
  return world;

  async function store(Name: string, value: string | Uint8Array): Promise<void> {
    const content = typeof value === 'string' ? { SecretString: value } : { SecretBinary: value };
    await good.secrets.send(new CreateSecretCommand({ Name, ...content }));
  }
}

const SERVICE = 'customer-insights';
const TABLE = 'pairs';
const KEY = { pair: { S: `acme/${SERVICE}` } };
const ACCESS = { region: 'us-east-1', credentials: { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'example' } };

async function startTokenEndpoint(onRequest: Reply): Promise<string> {
  const { port, close } = await startRawServer({ onRequest });
  onTestFinished(close);
  return `http://127.0.0.1:${port}`;
}

/** Answers with a JSON body and perhaps a header. */
export function json(status: number, members: unknown, header = 'x-nothing: 0'): Reply {
  return write(http(status, JSON.stringify(members), `content-type: application/json\r\n${header}`));
}

export function credentialOf(client_id: string, secret: string): string {
  return JSON.stringify({ client_id, secret });
}

function eventOf(sessionToken: string, changes: Readonly<Record<string, unknown>>) {
  const headers = { 'content-type': 'application/json', 'x-amz-security-token': sessionToken };
  return functionUrlEvent({ client: 'acme', service: SERVICE }, { headers, ...changes });
}

/** All attributes as text; bytes in the encodings that code might print them in. */
export function dumpOf(item: Readonly<Record<string, AttributeValue>>): string {
  const bytes = Object.values(item).flatMap(({ B }) => (B === undefined ? [] : [Buffer.from(B)]));
  const texts = bytes.flatMap((each) => [each.toString('latin1'), each.toString('base64'), each.toString('hex')]);
  return [JSON.stringify(item), ...texts].join('\n');
}

/** Waits until work left behind has ended, so that a rejection without a handler is seen. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
