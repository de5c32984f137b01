import type { Issue } from '../../functions/broker/pair/decision.ts';
import { hardMarginMs } from '../../functions/broker/pair/freshness.ts';
import { type Pair, pairKey } from '../../functions/broker/pair/pair.ts';
import type { Problem } from '../../functions/broker/problem.ts';
import type { HandOut } from './fleet-model-world.ts';

/** The circumstances of one answer. */
interface Circumstances {
  readonly pair: Pair;
  readonly refused: string | undefined;
  readonly environment: number;
  /** By the clock of the environment. */
  readonly now: number;
  /** The environment could not reach the store. */
  readonly isAlone: boolean;
  /** How long the pair had been disabled when the call began, as far as the environment could know. */
  readonly disabledMs: number;
  /** The same for its token, and for its credential. */
  readonly withdrawnMs: number;
  readonly goneMs: number;
  /** Nothing has gone wrong yet in this story but with services. */
  readonly isUntroubled: boolean;
}

/** Judges every answer by what the services truly handed out. */
export function createJudge(accuse: (of: string) => void) {
  /** By token: what the service told environments about its life, by their clocks. */
  const tokens = new Map<string, { handOut: HandOut; tellings: { expiresAt: number; lifetimeMs: number }[] }>();
  let hasRepeated = false;

  return {
    seeHandOut(handOut: HandOut, toldMs: number, requestStartedAt: number) {
      const tellings = tokens.get(handOut.text)?.tellings ?? [];
      hasRepeated ||= tellings.length > 0;
      const lifetimeMs = Math.min(toldMs, MAX_LIFETIME_MS);
      tellings.push({ expiresAt: requestStartedAt + lifetimeMs, lifetimeMs });
      tokens.set(handOut.text, { handOut, tellings });
    },

    judgeIssue({ token, cache }: Issue, circumstances: Circumstances) {
      const { pair, refused, environment, now, isAlone, isUntroubled } = circumstances;
      const { disabledMs, withdrawnMs, goneMs } = circumstances;
      const text = token.accessToken.reveal();
      const who = `environment ${environment}, ${text}`;
      const known = tokens.get(text);
      if (known === undefined || pairKey(known.handOut.pair) !== pairKey(pair)) {
        return accuse(`${who}: not this pair’s`);
      }

      const tellings = known.tellings.filter(({ expiresAt }) => token.expiresAt <= expiresAt);
      if (tellings.length === 0) accuse(`${who}: is said to live longer than the service has said`);
      // All environments know of the tellings before the one that the token was issued by; when something went wrong, a
      // later one may pass for the whole life.
      const last = known.tellings.findIndex(({ expiresAt }) => token.expiresAt <= expiresAt);
      const counting = isUntroubled ? known.tellings.slice(0, last + 1) : tellings;
      const lifetimes = counting.map(({ lifetimeMs }) => lifetimeMs);
      const marginMs = hardMarginMs(isUntroubled ? Math.max(...lifetimes) : Math.min(...lifetimes));
      const leftMs = token.expiresAt - now;
      // The clocks of this world count in fractions, and times are told in milliseconds.
      if (leftMs <= marginMs - 1) accuse(`${who}: issued ${leftMs} ms before its end, with a margin of ${marginMs} ms`);

      if (token.fingerprint === refused && !hasRepeated) accuse(`${who}: was refused`);
      if (disabledMs > TRUST_MS) accuse(`${who}: issued ${disabledMs} ms after it was disabled`);
      if (cache !== 'none' && withdrawnMs > TRUST_MS) accuse(`${who}: issued ${withdrawnMs} ms after it was withdrawn`);
      if (isAlone && cache === 'memory' && goneMs > TRUST_MS) {
        accuse(`${who}: issued alone ${goneMs} ms after its credential was gone`);
      }
    },

    judgeProblem({ type, retryAfterSeconds = 1 }: Problem) {
      const longest = HELD.has(type) ? 3_600 : 300;
      const isSane = retryAfterSeconds >= 1 && retryAfterSeconds <= longest;
      if (!isSane) accuse(`${type} asks to wait ${retryAfterSeconds} s`);
    },
  };
}

/** How long memory is trusted, and a secret by an environment that is alone. */
const TRUST_MS = 60_000;
/** The problems of a hold, which lasts an hour at most; a pause lasts five minutes. */
const HELD: ReadonlySet<string> = new Set(['token-response-unusable', 'token-endpoint-error']);
const MAX_LIFETIME_MS = 86_400_000;
