import { randomUUID } from 'node:crypto';
import { subscribe } from 'node:diagnostics_channel';
import { ClientRequest } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { assumedRoleIdentity, functionUrlEvent } from '../../../bin/local/function-url/event.ts';
import type { TokenFunction } from '../../../functions/token-function.ts';
import type { InstanceAnswer, Order, ProcessSettings, Report } from './instance-process.ts';
import { slowDown } from './slow-motion.ts';

// The program of `startInstanceProcess`: makes instances, asks them, and reports.
const { code, role, slowMotion, ...options }: ProcessSettings = JSON.parse(process.argv[2] ?? '');
const { createTokenFunction }: typeof import('../../../functions/token-function.ts') = await import(code);
const identity = assumedRoleIdentity(role, 'AKIDEXAMPLE');
const instances = new Map<number, TokenFunction['handler']>();
const calls: Record<string, number> = {};

const machine = { now: Date.now, sleep };
slowDown(slowMotion.factor, slowMotion.since);

subscribe('http.client.request.start', (message) => {
  if (typeof message !== 'object' || message === null || !('request' in message)) return;
  if (!(message.request instanceof ClientRequest)) return;
  const target = message.request.getHeader('x-amz-target') ?? message.request.method;
  const name = String(target).replace(/^.*\./, '');
  calls[name] = (calls[name] ?? 0) + 1;
});

process.on('message', async (message) => {
  const { id, ...order }: Order & { readonly id: number } = JSON.parse(String(message));
  process.send?.(JSON.stringify({ id, ...(await carryOut(order)) }));
});
process.on('disconnect', () => process.exit());

async function carryOut({ instances: numbers = [], body, at }: Order): Promise<Report> {
  const handlers: TokenFunction['handler'][] = [];
  // One after the other: in Lambda each of them has a processor of its own while it starts.
  for (const number of numbers) handlers.push(await instanceOf(number));
  if (at !== undefined) await machine.sleep(at - machine.now());
  const answers = body === undefined ? [] : await Promise.all(handlers.map((handler) => ask(handler, body)));
  return { answers, calls };
}

/** Like Lambda, which starts an instance before it passes on the first event. */
async function instanceOf(number: number): Promise<TokenFunction['handler']> {
  const known = instances.get(number);
  if (known !== undefined) return known;
  const { handler, readFirst } = createTokenFunction({ ...options, write: () => undefined });
  instances.set(number, handler);
  await readFirst();
  return handler;
}

async function ask(handler: TokenFunction['handler'], body: object): Promise<InstanceAnswer> {
  const headers = [['content-type', 'application/json'] as const];
  const request = { method: 'POST', path: '/token', query: '', headers, body: Buffer.from(JSON.stringify(body)) };
  const event = functionUrlEvent(request, identity, randomUUID());

  const startedAt = performance.now();
  const passedMs = () => (performance.now() - startedAt) / slowMotion.factor;
  const answer = await handler(event, { getRemainingTimeInMillis: () => TIMEOUT_MS - passedMs() });
  return { status: answer.statusCode, body: JSON.parse(answer.body), waitMs: passedMs() };
}

/** The time-out of the token function. */
const TIMEOUT_MS = 15_000;
