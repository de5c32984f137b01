import type { Outcome } from './messages.ts';

/** An outcome and how it is to be seen: as a success, as the refusal of a request or its caller, or as a failure. */
export function outcomeOf(word: string): Outcome {
  if (word === 'issued' || word === 'accepted') return { word, kind: 'good' };
  return { word, kind: REFUSALS.has(word) ? 'refused' : 'bad' };
}

const REFUSALS = new Set([
  'access-denied',
  'invalid-request',
  'not-found',
  'method-not-allowed',
  'content-too-large',
  'unsupported-media-type',
]);
