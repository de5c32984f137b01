import { causeWord } from '../../../functions/aws/calls.ts';
import { aborted } from '../failure.ts';

/** What came back. */
export interface Heard {
  readonly status: number;
  readonly headers: Headers;
  /** Only the beginning. */
  readonly text: string;
}

/** A request that carries nothing: no signature, no credential, no body. Without an answer, why. */
export async function ask(
  url: URL,
  method: 'GET' | 'POST',
  signal: AbortSignal,
): Promise<Heard | { readonly code: string }> {
  const deadline = AbortSignal.timeout(TIMEOUT_MS);
  try {
    const response = await fetch(url, { method, redirect: 'manual', signal: AbortSignal.any([signal, deadline]) });
    return { status: response.status, headers: response.headers, text: await readBeginning(response) };
  } catch (error) {
    if (signal.aborted) throw aborted();
    if (deadline.aborted) return { code: 'ETIMEDOUT' };
    return { code: causeWord(error instanceof Error && error.cause instanceof Error ? error.cause : error) };
  }
}

async function readBeginning({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    chunks.push(chunk);
    bytes += chunk.byteLength;
    if (bytes > ENOUGH_BYTES) break;
  }
  return Buffer.concat(chunks).toString('utf8');
}

const TIMEOUT_MS = 5_000;
const ENOUGH_BYTES = 4_096;
