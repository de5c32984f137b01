import type { Warning } from '../../vocabulary.ts';
import { type Credential, repeatsCredential } from '../credential/credential.ts';
import { Problem } from '../problem.ts';
import { Redacted } from '../redacted.ts';
import type { Service } from '../service.ts';
import { readContent, type TokenResponse } from './content.ts';
import { type Expiry, type RequestTimes, readExpiry } from './expiry.ts';
import { type Extras, readExtras } from './extras.ts';
import { findToken } from './find-token.ts';
import { readMembers, UnusableAnswer } from './members.ts';
import { createPathPrinter, shapeOf } from './shape.ts';
import { oauthErrorOf, type Refusal, readStatus } from './status.ts';

export type TokenResponseReading =
  | { readonly outcome: 'token'; readonly token: ServiceToken; readonly warnings: readonly Warning[] }
  /** `lapsed`: the token had expired when it arrived. */
  | (Refusal & { readonly lapsed?: Redacted | undefined });

/** A token as its service returned it. */
export interface ServiceToken extends Expiry, Extras {
  readonly accessToken: Redacted;
}

/**
 * Reads a token endpoint's answer to a request with the credential (RFC 6749 §5). Never throws. A problem contains no
 * value of the answer. A success without a usable token is held.
 */
export function readTokenResponse(
  response: TokenResponse,
  times: RequestTimes,
  service: Service,
  credential: Credential,
): TokenResponseReading {
  const content = readContent(response);
  const members = readMembers(content.value, response.headers, service.response);
  const print = createPathPrinter(content.value, credential);
  const answer = { response, content, members, print };
  const refusal = readStatus(answer, times.receivedAt, service);
  if (refusal !== undefined) return refusal;
  try {
    const { tokenMember, tokenHeader } = service.response;
    const isWholeText = tokenMember === '$' && content.value !== undefined;
    if (content.doubt !== undefined && tokenHeader === undefined && !isWholeText)
      throw new UnusableAnswer(content.doubt);
    // An error in a success has no defined meaning. Without a word that says so, it is no rejection.
    if (!members.errors.every(isEmpty)) {
      const error = oauthErrorOf(members.errors[0]) ?? 'an error';
      throw new UnusableAnswer(`it reports ${error}, although its status says success.`);
    }
    const token = findToken(answer, service.response);
    if (repeatsCredential(token.text, credential)) {
      throw new UnusableAnswer('where its token should be, it repeats the credential.');
    }
    const { warnings, ...expiry } = readExpiry(token, answer, times, service);
    const { extras, hasEcho } = readExtras(token, members, credential);
    return {
      outcome: 'token',
      token: { ...expiry, accessToken: new Redacted(token.text), ...extras },
      warnings: hasEcho ? [...warnings, 'credential-echoed'] : warnings,
    };
  } catch (error) {
    if (!(error instanceof UnusableAnswer)) throw error;
    const detail = `The answer of the token endpoint (${response.status}) is unusable: ${error.message}`;
    const problem = new Problem('token-response-unusable', detail, { shape: shapeOf(response, content, print) });
    return { outcome: 'held', problem, lapsed: error.lapsed };
  }
}

/** Returns whether an error is empty: `null`, `""`, `0` and similar values accompany good tokens. */
function isEmpty(value: unknown): boolean {
  return !value || value === '0' || (typeof value === 'object' && Object.keys(value).length === 0);
}
