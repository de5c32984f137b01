import { DynamoDBClient, ScanCommand } from '@aws-sdk/client-dynamodb';
import {
  GetSecretValueCommand,
  PutSecretValueCommand,
  SecretsManagerClient,
  UpdateSecretVersionStageCommand,
} from '@aws-sdk/client-secrets-manager';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { PublishedMessage } from '../../bin/local/aws/sns-sts.ts';
import { type LocalBroker, startLocalBroker } from '../../bin/local/broker.ts';
import { startTokenService, type TokenService } from '../../bin/local/token-service/server.ts';
import { createTokenBroker } from '../../client/token-broker.ts';
import { findMark } from '../support/encodings.ts';
import { runCommandLine } from './commands/command-line.ts';

const SERVICES = ['customer-insights', 'merchant-payment-cleansing'];
const OLD = { client_id: 'acme-id', secret: 'marked-old-secret' };
const NEW = { client_id: 'acme-id', secret: 'marked-new-secret' };
const WRONG = { client_id: 'acme-id', secret: 'marked-wrong-secret' };
const CALLER = { role: role('billing'), accessKeyId: 'AKIDBILLING', secretAccessKey: 'billing-key' };
const OPERATOR = { role: role('operator'), accessKeyId: 'AKIDOPERATOR', secretAccessKey: 'operator-key' };
const SECRET_ID = 'token-broker/local/acme';

describe('client put, while callers get tokens all the time,', () => {
  it('puts a good credential into use: no caller notices', async () => {
    const world = await startWorld();
    const traffic = startTraffic(world.broker);
    const put = await world.operate(['client', 'put', 'acme'], NEW);

    expect(put).toMatchObject({ exitCode: 0 });
    expect(await traffic.stop()).toMatchObject({ failures: [] });
    expect(await world.current()).toEqual(NEW);
    expect(world.messages).toEqual([]);
    expect(`${put.stdout}${put.stderr}${world.written.join()}`).not.toContain('marked-');
  });

  it('leaves a bad one pending: no caller notices', async () => {
    const world = await startWorld();
    const traffic = startTraffic(world.broker);
    const put = await world.operate(['client', 'put', 'acme'], WRONG);

    expect(put).toMatchObject({ exitCode: 1 });
    expect(`${put.stdout}${put.stderr}`).toMatch(/rejected/);
    expect(await traffic.stop()).toMatchObject({ failures: [] });
    expect(await world.current()).toEqual(OLD);
    expect(await world.current('AWSPENDING')).toEqual(WRONG);
  });
});

describe('a version that is promoted directly in Secrets Manager', () => {
  it('and is wrong costs no caller a token, each service one request, and the operators one message', async () => {
    const world = await startWorld();
    const traffic = startTraffic(world.broker);
    await traffic.everyService();
    const before = world.tokenService.requests.length;
    await world.promote(WRONG);
    await world.broker.eventsSettled();

    expect(await traffic.stop()).toMatchObject({ failures: [] });
    const sent = world.tokenService.requests.slice(before);
    expect(
      sent
        .filter(({ ok }) => !ok)
        .map(({ service }) => service)
        .sort(),
    ).toEqual(SERVICES);
    expect(world.messages).toHaveLength(1);
    expect(world.messages[0]?.text).toContain('acme');
    expect(world.messages[0]?.text).not.toContain('marked-');
  });

  it('and is good gives its token to the callers, without a message to the operators', async () => {
    const world = await startWorld();
    const traffic = startTraffic(world.broker);
    await traffic.everyService();
    await world.promote(NEW);
    await world.broker.eventsSettled();

    expect(await traffic.stop()).toMatchObject({ failures: [] });
    expect(world.messages).toEqual([]);
    const answer = await createTokenBroker({ url: world.broker.url, credentials: OPERATOR }).check({
      client: 'acme',
      service: 'customer-insights',
    });
    expect(answer).toMatchObject({ finding: 'accepted', provenBy: 'traffic' });
  });
});

describe('a health run on this machine', () => {
  it('finds what is wrong, tells it once, and proves that a role without a rule is refused', async () => {
    const world = await startWorld({ initech: WRONG });
    const run = () =>
      fetch(`${world.broker.controlUrl}/health-run`, { method: 'POST' }).then((answer) => answer.json());
    const first = await run();
    const second = await run();

    expect(first).toMatchObject({ clients: 2, missed: [], probe: { condition: 'denied' } });
    expect(second).toMatchObject({ clients: 2, missed: [], probe: { condition: 'denied' } });
    expect(world.messages.map(({ subject }) => subject)).toEqual([
      expect.stringContaining('initech'),
      expect.stringContaining('initech'),
    ]);
  });
});

describe('all that is written meanwhile', () => {
  it('holds no secret and no token, in no encoding: lines, messages, output and table', async () => {
    const world = await startWorld({ initech: WRONG });
    const traffic = startTraffic(world.broker);
    await traffic.everyService();
    const put = await world.operate(['client', 'put', 'acme', '--json'], NEW);
    const bad = await world.operate(['client', 'put', 'acme'], WRONG);
    await world.promote(WRONG);
    await world.broker.eventsSettled();
    await fetch(`${world.broker.controlUrl}/health-run`, { method: 'POST' });
    const { tokens } = await traffic.stop();
    const table = await new DynamoDBClient({}).send(new ScanCommand({ TableName: 'token-broker-local' }));
    const outputs = [put, bad].flatMap(({ stdout, stderr }) => [stdout, stderr]);
    const everything = [
      ...world.written,
      ...outputs,
      JSON.stringify(world.messages),
      JSON.stringify(table.Items),
    ].join();

    const marks = [OLD.secret, NEW.secret, WRONG.secret, OLD.client_id, ...tokens];
    expect(tokens.size).toBeGreaterThan(1);
    expect(marks.flatMap((mark) => findMark(everything, mark))).toEqual([]);
    expect(findMark(everything, 'customer-insights')).toContain('plain');
  });
});

interface World {
  readonly broker: LocalBroker;
  readonly tokenService: TokenService;
  readonly messages: readonly PublishedMessage[];
  readonly written: readonly string[];
  readonly operate: (args: readonly string[], input: object) => ReturnType<typeof runCommandLine>;
  readonly current: (stage?: string) => Promise<unknown>;
  readonly promote: (credential: object) => Promise<void>;
}

async function startWorld(others: Readonly<Record<string, object>> = {}): Promise<World> {
  const accepted = [OLD, NEW].map((credential) => ({ client: 'acme', ...credential }));
  const tokenService = await startTokenService({
    credentials: Object.fromEntries(SERVICES.map((service) => [service, accepted])),
  });
  onTestFinished(() => tokenService.close());
  const messages: PublishedMessage[] = [];
  const written: string[] = [];
  const broker = await startLocalBroker({
    port: 0,
    config: {
      services: Object.fromEntries(SERVICES.map((service) => [service, { authUrl: tokenService.authUrl(service) }])),
      accessRules: [
        { role: CALLER.role, clients: ['acme'], services: 'all' },
        { role: OPERATOR.role, clients: 'all', services: 'all', operations: ['check'] },
      ],
      callers: [CALLER, OPERATOR],
      credentials: { acme: OLD, ...others },
    },
    write: (line) => written.push(line),
    onMessage: (message) => messages.push(message),
    onEventFailure: (error) => {
      throw error;
    },
  });
  onTestFinished(async () => {
    await broker.close();
    // The next broker must start its own stand-ins.
    delete process.env.AWS_ENDPOINT_URL_SECRETS_MANAGER;
    delete process.env.AWS_ENDPOINT_URL_DYNAMODB;
  });

  const secretsManager = new SecretsManagerClient({});
  const read = async (stage = 'AWSCURRENT') => {
    const command = new GetSecretValueCommand({ SecretId: SECRET_ID, VersionStage: stage });
    return secretsManager.send(command);
  };
  return {
    broker,
    tokenService,
    messages,
    written,
    operate: (args, input) =>
      runCommandLine(
        args,
        {
          AWS_ENDPOINT_URL_SECRETS_MANAGER: process.env.AWS_ENDPOINT_URL_SECRETS_MANAGER ?? '',
          AWS_ENDPOINT_URL_DYNAMODB: process.env.AWS_ENDPOINT_URL_DYNAMODB ?? '',
          AWS_REGION: 'us-east-1',
          AWS_ACCESS_KEY_ID: OPERATOR.accessKeyId,
          AWS_SECRET_ACCESS_KEY: OPERATOR.secretAccessKey,
          AWS_SESSION_TOKEN: '',
          TOKEN_BROKER_URL: broker.url,
        },
        JSON.stringify(input),
      ),
    current: async (stage) => JSON.parse((await read(stage)).SecretString ?? ''),
    async promote(credential) {
      const { VersionId: old } = await read();
      const put = { SecretId: SECRET_ID, SecretString: JSON.stringify(credential), VersionStages: ['AWSPENDING'] };
      const { VersionId } = await secretsManager.send(new PutSecretValueCommand(put));
      await secretsManager.send(
        new UpdateSecretVersionStageCommand({
          SecretId: SECRET_ID,
          VersionStage: 'AWSCURRENT',
          MoveToVersionId: VersionId,
          RemoveFromVersionId: old,
        }),
      );
    },
  };
}

/** A caller that never rests. */
function startTraffic({ url }: LocalBroker) {
  const broker = createTokenBroker({ url, credentials: CALLER, cache: false });
  const failures: unknown[] = [];
  const tokens = new Set<string>();
  let answers = 0;
  let isOver = false;
  const ask = async () => {
    for (const service of SERVICES) {
      await broker.token({ client: 'acme', service }).then(
        ({ accessToken }) => {
          answers += 1;
          tokens.add(accessToken);
        },
        (error: unknown) => failures.push(error),
      );
    }
  };
  const all = (async () => {
    while (!isOver) await ask();
  })();
  return {
    everyService: ask,
    async stop() {
      isOver = true;
      await all;
      return { answers, failures, tokens };
    },
  };
}

function role(name: string): string {
  return `arn:aws:iam::111111111111:role/${name}`;
}
