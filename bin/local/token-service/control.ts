import { z } from 'zod';
import { NAME_PATTERN } from '../../../functions/contract.ts';
import { FAULTS, type TokenServiceAnswer, type TokenServiceFault } from './answer.ts';
import type { Target } from './target.ts';

/** What somebody at the keyboard wants from now on: `null` ends a wish, what is left out stays as it is. */
export interface Control {
  readonly target: Target;
  readonly answer?: TokenServiceAnswer | null | undefined;
  readonly fault?: TokenServiceFault | null | undefined;
  readonly latencyMs?: number | null | undefined;
}

/** Reads the body of `POST /control`; gives a sentence instead that says what is wrong with it. */
export function parseControl(body: string): Control | string {
  const parsed = CONTROL.safeParse(parseJson(body));
  if (!parsed.success) return z.prettifyError(parsed.error);
  const { service, client, ...wishes } = parsed.data;
  if (client === undefined) return { target: service, ...wishes };
  return service === undefined ? 'A client needs a service beside it.' : { target: { service, client }, ...wishes };
}

const NAME = z.string().regex(NAME_PATTERN);

const CONTROL = z.strictObject({
  service: NAME.optional(),
  client: NAME.optional(),
  answer: z
    .strictObject({
      status: z.int().min(200).max(599),
      headers: z.record(z.string(), z.string()).optional(),
      body: z.string().optional(),
    })
    .nullish(),
  fault: z.literal(Object.keys(FAULTS).filter(isFault)).nullish(),
  latencyMs: z.int().min(0).max(60_000).nullish(),
});

function isFault(name: string): name is TokenServiceFault {
  return name in FAULTS;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
