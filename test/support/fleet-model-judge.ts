import type { Issue } from '../../functions/broker/pair/decision.ts';
import { hardMarginMs } from '../../functions/broker/pair/freshness.ts';
import { type Pair, pairKey } from '../../functions/broker/pair/pair.ts';
import type { Problem } from '../../functions/broker/problem.ts';
import type { HandOut } from './fleet-model-world.ts';

/** What an environment was told of a token's life, by its own clock. */
interface Telling {
  readonly expiresAt: number;
  readonly lifetimeMs: number;
}

/** The circumstances of one answer. */
interface Circumstances {
  readonly pair: Pair;
  readonly refused: string | undefined;
  readonly environment: number;
  /** By the clock of the environment. */
  readonly now: number;
  /** How long the pair had been disabled, and its secret deleted, when the call began; as far as one could know. */
  readonly disabledMs: number;
  readonly deletedMs: number;
  /** Nothing has gone wrong yet in this story but with services. */
  readonly isUntroubled: boolean;
}

/** Judges every answer by what the services truly handed out. */
export function createJudge(accuse: (of: string) => void) {
  const tokens = new Map<string, { readonly handOut: HandOut; readonly tellings: readonly Telling[] }>();
  let hasRepeated = false;

  return {
    seeHandOut(handOut: HandOut, toldMs: number, requestStartedAt: number) {
      const before = tokens.get(handOut.text)?.tellings ?? [];
      hasRepeated ||= before.length > 0;
      const lifetimeMs = Math.min(toldMs, MAX_LIFETIME_MS);
      const tellings = [...before, { expiresAt: requestStartedAt + lifetimeMs, lifetimeMs }];
      tokens.set(handOut.text, { handOut, tellings });
    },

    judgeIssue({ token }: Issue, circumstances: Circumstances) {
      const { pair, refused, environment, now, disabledMs, deletedMs, isUntroubled } = circumstances;
      const text = token.accessToken.reveal();
      const who = `environment ${environment}, ${text}`;
      const known = tokens.get(text);
      if (known === undefined || pairKey(known.handOut.pair) !== pairKey(pair))
        return accuse(`${who}: not this pair’s`);

      const tellings = known.tellings.filter(({ expiresAt }) => token.expiresAt <= expiresAt);
      if (tellings.length === 0) accuse(`${who}: is said to live longer than the service has said`);
      // Whoever could not know of the first telling takes a later one for the whole life.
      const lifetimes = (isUntroubled ? known.tellings : tellings).map(({ lifetimeMs }) => lifetimeMs);
      const marginMs = hardMarginMs(isUntroubled ? Math.max(...lifetimes) : Math.min(...lifetimes));
      const leftMs = token.expiresAt - now;
      if (leftMs <= marginMs) accuse(`${who}: issued ${leftMs} ms before its end, with a margin of ${marginMs} ms`);

      if (token.fingerprint === refused && !hasRepeated) accuse(`${who}: was refused`);
      if (disabledMs > DISABLED_WITHIN_MS) accuse(`${who}: issued ${disabledMs} ms after it was disabled`);
      if (deletedMs > DELETED_WITHIN_MS) accuse(`${who}: issued ${deletedMs} ms after its secret was deleted`);
    },

    judgeProblem({ type, retryAfterSeconds }: Problem) {
      const isSane = retryAfterSeconds === undefined || (retryAfterSeconds >= 1 && retryAfterSeconds <= 300);
      if (!isSane) accuse(`${type} asks to wait ${retryAfterSeconds} s`);
    },
  };
}

/** And as long as a stale read can be behind. */
const DISABLED_WITHIN_MS = 60_000 + 1_000;
const DELETED_WITHIN_MS = 300_000;
const MAX_LIFETIME_MS = 86_400_000;
