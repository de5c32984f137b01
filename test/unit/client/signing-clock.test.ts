import { expect, it } from 'vitest';
import { AWS_ANSWERS } from './broker-answers.ts';
import { GOOD, MINUTE_MS, NOW, PAIR, startClientWorld } from './client-world.ts';
import type { Answer } from './loopback-server.ts';

const dates = ['20261101T100000Z', '20261101T100600Z'];

it.each([
  ['aws-signature-expired', 6],
  ['aws-signature-not-yet-current', -6],
])('the client signs with the time of the answer after "%s", once and without a pause', async (type, minutes) => {
  const world = await startClientWorld([refusal(type, minutes), GOOD]);
  await world.broker.token(PAIR);
  expect(signedAt(world)).toEqual([dates[0], minutes > 0 ? dates[1] : '20261101T095400Z']);
  expect(world.waits).toEqual([]);
});

it('the client fails when the corrected time is refused, too', async () => {
  const world = await startClientWorld(refusal('aws-signature-expired', 6));
  await expect(world.broker.token(PAIR)).rejects.toMatchObject({ type: 'aws-signature-expired', status: 403 });
  expect(signedAt(world)).toEqual(dates);
});

it('the clock is corrected once in a call, also when answers name different times', async () => {
  const world = await startClientWorld([refusal('aws-signature-expired', 6), refusal('aws-signature-expired', 20)]);
  await expect(world.broker.token(PAIR)).rejects.toMatchObject({ type: 'aws-signature-expired' });
  expect(signedAt(world)).toEqual(dates);
});

it.each([
  ['names the same time as this machine', refusal('aws-signature-expired', 0)],
  ['names no time', refusal('aws-signature-expired', undefined)],
  ['has another reason', refusal('aws-security-token-expired', 6)],
])("the client trusts this machine's clock when the refusal %s", async (_, answer) => {
  const world = await startClientWorld([answer, GOOD]);
  await expect(world.broker.token(PAIR)).rejects.toMatchObject({ status: 403 });
  expect(world.server.requests).toHaveLength(1);
});

it("the client trusts this machine's clock when it may send only once", async () => {
  const world = await startClientWorld([refusal('aws-signature-expired', 6), GOOD], { maxAttempts: 1 });
  await expect(world.broker.token(PAIR)).rejects.toMatchObject({ type: 'aws-signature-expired' });
});

function refusal(type: string, minutes: number | undefined): Answer {
  return (response, request) => {
    if (minutes === undefined) response.removeHeader('date');
    else response.setHeader('date', new Date(NOW + minutes * MINUTE_MS).toUTCString());
    response.sendDate = false;
    AWS_ANSWERS.find((each) => each.type === type)?.answer(response, request);
  };
}

function signedAt({ server }: Awaited<ReturnType<typeof startClientWorld>>) {
  return server.requests.map(({ headers }) => headers['x-amz-date']);
}
