import { type AttributeValue, DynamoDBClient, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { exchange, found } from '../support/broker-world.ts';
import { createBrokerDay } from '../support/cloudwatch/broker-day.ts';
import { type Point, pointsOf } from '../support/cloudwatch/metric-points.ts';
import { CREDENTIALS, startHealthFunctionWorld } from '../unit/functions/health-function-world.ts';
import { ALARM_CASES } from './alarm-cases.ts';

/** Every metric that the code writes, found out by making it write: what happens for an alarm, and what else happens. */
export async function emittedMetrics(): Promise<readonly Point[]> {
  const cases = await Promise.all(Object.values(ALARM_CASES).map((run) => run()));
  const points = cases.flatMap((one) => one.points).filter(({ namespace }) => namespace === 'TokenBroker');
  // One after the other: some of them change the environment variables of the process.
  const lines = [...(await previousVersion()), ...(await idleRefusal()), ...(await unreadableRecord())];
  return [...points, ...pointsOf([...lines, ...(await secretEvents())])];
}

/** The current version is rejected, the one before is not. */
async function previousVersion(): Promise<readonly string[]> {
  const day = createBrokerDay();
  day.world.secret = (_, stage) => {
    const reading = found(stage === 'AWSCURRENT' ? 'v2' : 'v1');
    return reading.outcome === 'found' ? { ...reading, secret: { ...reading.secret, stage } } : reading;
  };
  day.world.answer = (n) => exchange(n <= 2 ? 401 : 200, { access_token: `token-${n}`, expires_in: 90 });
  await day.minutes(2, day.ask);
  return day.lines;
}

/** The service has nothing but the token that it refuses, and repeats the credential in its scope. */
async function idleRefusal(): Promise<readonly string[]> {
  const day = createBrokerDay();
  day.world.answer = () => exchange(200, { access_token: 'the-only-one', expires_in: 3_600, scope: 'id:secret' });
  const pair = { client: 'acme', service: 'customer-insights' };
  const { json } = await day.post(pair);
  await day.post({ ...pair, refused: json.fingerprint });
  return day.lines;
}

/** A record in the table was altered by hand. */
async function unreadableRecord(): Promise<readonly string[]> {
  const world = await startHealthFunctionWorld();
  await world.store('acme', CREDENTIALS.acme);
  await world.run();
  const table = new DynamoDBClient({ endpoint: world.dynamodb.url });
  for (const item of await world.items()) {
    await table.send(new PutItemCommand({ TableName: 'pairs', Item: altered(item) }));
  }
  table.destroy();
  await world.run();
  return [...world.lines, ...world.healthLines];
}

function altered(item: Readonly<Record<string, AttributeValue>>): Record<string, AttributeValue> {
  const entries = Object.entries(item).map(([name, value]) => {
    return [name, value.B === undefined ? value : { B: value.B.map((byte) => byte ^ 1) }] as const;
  });
  return Object.fromEntries(entries);
}

async function secretEvents(): Promise<readonly string[]> {
  const world = await startHealthFunctionWorld();
  await world.deliver(await world.store('acme', CREDENTIALS.acme));
  await world.deliver({ source: 'aws.secretsmanager' });
  return [...world.lines, ...world.healthLines];
}
