import { DynamoDBClient, ScanCommand } from '@aws-sdk/client-dynamodb';
import { expect } from 'vitest';
import { findMark } from '../support/encodings.ts';
import { it, NEW, OLD, type OperatorWorld, SERVICES, WRONG } from './commands/shared/operator-world.ts';

it('operating costs no caller a token, and lines, messages, output and table hold no secret, in no encoding', async ({
  world,
}) => {
  const stop = await keepCalling(world);
  const results = [
    await world.run('client put acme --yes --json', { input: NEW }),
    await world.run('client put acme --yes', { input: WRONG }),
  ];
  // As with the AWS command line: no command of ours looks at the credential before.
  await world.store(WRONG, 'AWSCURRENT');
  await world.eventsSettled();
  results.push(await world.run('health --run'));
  const { tokens, failures } = await stop();
  const { Items } = await new DynamoDBClient().send(new ScanCommand({ TableName: 'token-broker-local' }));
  const everything = [...world.written, JSON.stringify([results, world.messages, Items])].join();

  expect(failures).toEqual([]);
  // The event of a client is one message.
  expect(world.messages).toHaveLength(1);
  for (const service of SERVICES)
    expect(world.messages[0]?.text).toContain(`${service} rejects the credential of acme`);
  const marks = [OLD.secret, NEW.secret, WRONG.secret, OLD.client_id, ...tokens];
  expect(tokens.size).toBeGreaterThan(1);
  expect(marks.flatMap((mark) => findMark(everything, mark))).toEqual([]);
  expect(findMark(everything, 'customer-insights')).toContain('plain');
});

/** Asks for tokens of `acme` without a pause from its first answer on; the result stops it and tells the failures. */
async function keepCalling({ caller }: OperatorWorld) {
  const failures: unknown[] = [];
  const tokens = new Set<string>();
  let isOver = false;
  const call = async () => {
    for (const service of SERVICES) {
      const answer = caller.token({ client: 'acme', service });
      await answer.then(({ accessToken }) => tokens.add(accessToken)).catch((error) => failures.push(error));
    }
  };
  await call();
  const calling = (async () => {
    while (!isOver) await call();
  })();
  return async () => {
    isOver = true;
    await calling;
    return { failures, tokens };
  };
}
