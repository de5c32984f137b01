import { onTestFinished, vi } from 'vitest';
import { createTokenBroker, type TokenBrokerOptions, type TokenOptions } from '../../../client/token-broker.ts';
import { ACCESS_TOKEN, issued } from './broker-answers.ts';
import { type Answer, answerWith, startLoopbackServer } from './loopback-server.ts';

export const NOW = Date.parse('2026-11-01T10:00:00.000Z');
export const PAIR = { client: 'acme', service: 'customer-insights' };
export const MINUTE_MS = 60_000;

/** A client with a clock that only its own waiting and the test move, and a server that plays the broker. */
export async function startClientWorld(answer: Answer | readonly Answer[], options: Partial<TokenBrokerOptions> = {}) {
  const clock = { now: NOW };
  /** How long the client waited before each repetition. */
  const waits: number[] = [];
  const answers = typeof answer === 'function' ? [answer] : [...answer];
  const server = await startLoopbackServer((response, request) => {
    response.setHeader('date', new Date(clock.now).toUTCString());
    const next = answers.length > 1 ? answers.shift() : answers[0];
    next?.(response, request);
  });
  onTestFinished(server.close);
  const broker = createTokenBroker({
    url: server.url,
    credentials: { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'marked-secret', sessionToken: 'marked-session' },
    now: () => clock.now,
    sleep: async (ms) => {
      waits.push(ms);
      clock.now += ms;
    },
    random: () => 0.5,
    ...options,
  });
  return {
    broker,
    clock,
    waits,
    server,
    /** The members of every request, in their order. */
    asked: () => server.requests.map(({ body }) => JSON.parse(body)),
    /** Plays another part from now on. */
    answer: (...others: readonly Answer[]) => answers.splice(0, answers.length, ...others),
    /** Asks for a token of the pair, and tells which of `goodAnswer` it is. */
    nth: async (more: Partial<TokenOptions> = {}) => Number((await broker.token({ ...PAIR, ...more })).fingerprint),
  };
}

/** A client that holds the first token, and a broker that then gives these answers; `asked` omits the first call. */
export async function startHolding(
  answers: readonly Answer[],
  { lifetime, ...options }: Partial<TokenBrokerOptions> & { readonly lifetime?: number } = {},
) {
  const world = await startClientWorld(goodAnswer(1, lifetime), options);
  await world.broker.token(PAIR);
  world.answer(...answers);
  return { ...world, asked: () => world.asked().slice(1) };
}

export const GOOD: Answer = answerWith(200, issued(NOW));

/** The n-th of the tokens that a broker has given, with this much life left. */
export function goodAnswer(n: number, expires_in = 3_600): Answer {
  return answerWith(200, issued(NOW, { access_token: tokenText(n), fingerprint: fingerprint(n), expires_in }));
}

export function tokenText(n: number): string {
  return `${ACCESS_TOKEN}-${n}`;
}

export function fingerprint(n: number): string {
  return `${n}`.padStart(16, '0');
}

/**
 * Begins an answer that goes no further, and lets the client's time limit of `ms` pass once it could have read that, however
 * busy the machine is: no time limit ends the sending before.
 */
export function tooLate(ms: number, begin: Answer = () => undefined): Answer {
  stopTimers();
  return async (response, request) => {
    begin(response, request);
    await turns();
    vi.advanceTimersByTime(ms);
  };
}

/** Stops the timers of the test until it moves them. */
export function stopTimers(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
}

/** Keeps the warnings of this process, and prints none. */
export function spyOnWarnings() {
  const warn = vi.spyOn(process, 'emitWarning').mockReturnValue();
  onTestFinished(() => warn.mockRestore());
  return warn;
}

/** Lets what is under way on this machine go on. */
export async function turns(): Promise<void> {
  for (let n = 0; n < 20; n += 1) await new Promise(setImmediate);
}

/** Answers once the returned function is called, which tells also when the request has come. */
export function heldBack(answer: Answer) {
  const arrival = Promise.withResolvers<void>();
  const permission = Promise.withResolvers<void>();
  const held: Answer = async (...exchange) => {
    arrival.resolve();
    await permission.promise;
    answer(...exchange);
  };
  return { answer: held, arrived: arrival.promise, release: permission.resolve };
}
