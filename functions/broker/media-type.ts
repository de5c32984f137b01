/** The media type of a `content-type` header, in lower case and without parameters; empty when it names none (RFC 9110 §8.3.1). */
export function mediaTypeOf(contentType = ''): string {
  return contentType.toLowerCase().replace(/;.*$/s, '').trim();
}
