import { randomUUID } from 'node:crypto';
import { isJsonObject, parseJson } from '../../json.ts';

/** An answer as everybody may see it who looks at the screen. */
export interface ShownAnswer {
  readonly answer: string;
  /** For `reveal`; absent when nothing is hidden. */
  readonly hidden?: string | undefined;
}

/** Keeps tokens away from the page until it asks for one, and only those of the last few answers. */
export function createHiddenAnswers() {
  const kept = new Map<string, string>();

  return {
    hide(head: string, body: string): ShownAnswer {
      const id = randomUUID();
      kept.set(id, head + pretty(body));
      for (const oldest of [...kept.keys()].slice(0, -MAX_KEPT)) kept.delete(oldest);
      return { answer: head + withoutTokens(body), hidden: id };
    },
    reveal: (id: string): string | undefined => kept.get(id),
  };
}

/** JSON with a line for each member; anything else as it is. */
export function pretty(text: string): string {
  const value = parseJson(text);
  return value === undefined ? text : JSON.stringify(value, undefined, 2);
}

const MAX_KEPT = 20;

/** Known to be no token; a service may be set to hand on members of its own, and those may be anything. */
const SHOWN = new Set(['token_type', 'expires_in', 'expires_at', 'expiry_source', 'fingerprint', 'scope']);

function withoutTokens(text: string): string {
  const answer = parseJson(text);
  if (!isJsonObject(answer)) return `(${text.length} characters, hidden)`;
  const shown = Object.entries(answer).map(([name, value]) => [name, SHOWN.has(name) ? value : placeholder(value)]);
  return JSON.stringify(Object.fromEntries(shown), undefined, 2);
}

function placeholder(value: unknown): string {
  return typeof value === 'string' ? `(${value.length} characters, hidden)` : '(hidden)';
}
