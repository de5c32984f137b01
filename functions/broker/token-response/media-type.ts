/**
 * The media type of a `content-type` header, in lower case and without parameters; undefined when it names none.
 *
 * @see RFC 9110 §8.3.1
 */
export function mediaTypeOf(contentType: string | undefined): string | undefined {
  return contentType?.split(';', 1)[0]?.trim().toLowerCase() || undefined;
}
