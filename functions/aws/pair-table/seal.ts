import type { ExpirySource } from '../../broker/token-response/types.ts';
import type { SealedPublication, StoredSeal, VisiblePublication } from '../sealing/sealing.ts';
import { type Item, number, text } from './item.ts';

/** The attributes of a publication. */
export function sealAttributes({ bytes, keyVersion, visible }: SealedPublication): Item {
  return {
    sealedToken: { B: bytes },
    sealingKeyVersion: { S: keyVersion },
    fingerprint: { S: visible.fingerprint },
    credentialVersion: { S: visible.credentialVersion },
    tokenType: { S: visible.tokenType },
    expirySource: { S: visible.expirySource },
    issuedAt: { N: `${visible.issuedAt}` },
    expiresAt: { N: `${visible.expiresAt}` },
    refreshAt: { N: `${visible.refreshAt}` },
    refusalIsIdle: { BOOL: visible.refusalIsIdle },
    lifetimeSeenMs: { N: `${visible.lifetimeSeenMs}` },
    earlyRefusals: { N: `${visible.earlyRefusals}` },
    assumedLifetimeMs: { N: `${visible.assumedLifetimeMs}` },
  };
}

/** The sealed publication of an item; `undefined` when it has none. */
export function readSeal(item: Item): StoredSeal | undefined {
  if (item.sealedToken === undefined) return undefined;
  const bytes = item.sealedToken.B;
  return {
    bytes: bytes instanceof Uint8Array ? bytes : new Uint8Array(),
    keyVersion: text(item.sealingKeyVersion) ?? '',
    visible: readVisible(item),
  };
}

/** Until when a foreign publication is left alone, as far as that can be believed of something that cannot be opened. */
export function readForeignUntil(item: Item, now: number): number {
  const issuedAt = number(item.issuedAt) ?? 0;
  const refreshAt = number(item.refreshAt) ?? 0;
  return issuedAt > now + MAX_SKEW_MS ? 0 : Math.min(refreshAt, issuedAt + MAX_LIFETIME_MS);
}

/** All or nothing: the seal holds only together with every one of these values. */
function readVisible(item: Item): VisiblePublication | undefined {
  const texts = {
    fingerprint: text(item.fingerprint),
    credentialVersion: text(item.credentialVersion),
    tokenType: text(item.tokenType),
  };
  const numbers = {
    issuedAt: number(item.issuedAt),
    expiresAt: number(item.expiresAt),
    refreshAt: number(item.refreshAt),
    lifetimeSeenMs: number(item.lifetimeSeenMs),
    earlyRefusals: number(item.earlyRefusals),
    assumedLifetimeMs: number(item.assumedLifetimeMs),
  };
  const expirySource = EXPIRY_SOURCES.find((source) => source === text(item.expirySource));
  const refusalIsIdle = item.refusalIsIdle?.BOOL;
  if (!isComplete(texts) || !isComplete(numbers)) return undefined;
  if (expirySource === undefined || typeof refusalIsIdle !== 'boolean') return undefined;
  return { ...texts, ...numbers, expirySource, refusalIsIdle };
}

function isComplete<Values extends Readonly<Record<string, unknown>>>(
  values: Values,
): values is Values & { readonly [Name in keyof Values]: NonNullable<Values[Name]> } {
  return Object.values(values).every((value) => value !== undefined);
}

const EXPIRY_SOURCES: readonly ExpirySource[] = ['response', 'jwt', 'configured', 'assumed'];

/** The settings allow no longer life time. */
const MAX_LIFETIME_MS = 30 * 24 * 60 * 60_000;
const MAX_SKEW_MS = 15 * 60_000;
