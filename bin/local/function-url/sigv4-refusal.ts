/** A 403 of AWS: `message` is AWS's own text, `errorType` its `x-amzn-errortype`. */
export class SigV4Refusal extends Error {
  override readonly name = 'SigV4Refusal';
  readonly errorType: string;

  constructor(errorType: string, message: string) {
    super(message);
    this.errorType = errorType;
  }
}

/** What is there cannot be read. */
export function incomplete(message: string): SigV4Refusal {
  return new SigV4Refusal('IncompleteSignatureException', message);
}

/** It can be read, but does not prove who sent it. */
export function invalidSignature(message: string): SigV4Refusal {
  return new SigV4Refusal('InvalidSignatureException', message);
}
