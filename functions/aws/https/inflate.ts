/**
 * Returns a body without its content encodings, which a service or a proxy may add unasked. Returns a body as it is if
 * that is impossible, because a proxy may also inflate a body and keep the header. `undefined`: it is too large.
 */
export function inflate(body: Buffer, contentEncoding: string, maxOutputLength: number): Buffer | undefined {
  let inflated = body;
  try {
    // The last encoding is the outermost. Another proxy removes the header, and no content begins like gzip.
    for (const coding of [...contentEncoding.toLowerCase().split(',').toReversed(), 'gzip']) {
      inflated = inflateOnce(inflated, coding.trim(), { maxOutputLength });
    }
    return inflated;
  } catch (error) {
    return error instanceof RangeError ? undefined : body;
  }
}

/** Every limit is an error of the type RangeError. */
function inflateOnce(body: Buffer, coding: string, options: { readonly maxOutputLength: number }): Buffer {
  const { brotliDecompressSync, gunzipSync, inflateRawSync, inflateSync } = process.getBuiltinModule('node:zlib');
  if (body[0] === 0x1f && body[1] === 0x8b) return gunzipSync(body, options);
  if (coding === 'br') return brotliDecompressSync(body, options);
  if (coding !== 'deflate') return body;
  // Some services send it without the header of zlib.
  return ((body[0] ?? 0) & 0x0f) === 8 ? inflateSync(body, options) : inflateRawSync(body, options);
}
