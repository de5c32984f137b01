/** A failure as an AWS service answers it: the type becomes `__type`. The message never holds a value of the request. */
export class AwsError extends Error {
  override readonly name = 'AwsError';
  readonly type: string;
  readonly status: number;

  constructor(type: string, message: string, status = 400) {
    super(message);
    this.type = type;
    this.status = status;
  }
}
