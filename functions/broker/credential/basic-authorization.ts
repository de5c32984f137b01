import { Problem } from '../problem.ts';
import { Redacted } from '../redacted.ts';
import type { BasicEncoding } from '../service.ts';
import type { Credential } from './credential.ts';

/**
 * The value of the `Authorization` header in the dialect that the service speaks.
 *
 * @throws Problem `credential-malformed` when a raw client id holds a colon: the service would split it there
 * @see RFC 7617 §2 for `raw`, RFC 6749 §2.3.1 for `form`
 */
export function basicAuthorization({ clientId, secret }: Credential, encoding: BasicEncoding): Redacted {
  const user = clientId.reveal();
  const password = secret.reveal();
  if (encoding === 'form') return basic(formEncode(user), formEncode(password));

  if (user.includes(':')) {
    throw new Problem(
      'credential-malformed',
      'The stored credential cannot be used: the client id holds a colon, which Basic authentication cannot carry ' +
        'unless the service expects the form encoding (basicEncoding: "form").',
    );
  }
  return basic(user, password);
}

function basic(user: string, password: string): Redacted {
  return new Redacted(`Basic ${base64(`${user}:${password}`)}`);
}

/** `btoa` takes bytes as characters up to U+00FF, hence the detour. */
function base64(text: string): string {
  const bytes = new TextEncoder().encode(text);
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));
}

/** The value half of a form parameter: a space becomes `+`, all but letters, digits and `*-._` become `%XX` of UTF-8. */
function formEncode(text: string): string {
  return new URLSearchParams({ '': text }).toString().slice('='.length);
}
