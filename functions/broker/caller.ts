/** The AWS role that signed a request. */
export interface Caller {
  readonly partition: string;
  readonly account: string;
  readonly role: string;
  /** Chosen by the caller itself: for the audit line, never for a decision. */
  readonly session: string;
}

/**
 * Reads the ARN under which an assumed role arrives; its path is gone. Anything else (a user, the account's root, an
 * anonymous or a CloudFront identity) is no caller and gives `undefined`.
 *
 * @see https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html
 */
export function parseCaller(arn: string): Caller | undefined {
  const [, partition, account, role, session] = ASSUMED_ROLE.exec(arn) ?? [];
  if (partition === undefined || account === undefined || role === undefined || session === undefined) return undefined;
  return { partition, account, role, session };
}

/** The identity that access rules are matched on. */
export function callerKey({ partition, account, role }: Pick<Caller, 'partition' | 'account' | 'role'>): string {
  return `${partition}:${account}:${role}`;
}

const ASSUMED_ROLE =
  /^arn:(aws|aws-cn|aws-us-gov):sts::(\d{12}):assumed-role\/([A-Za-z0-9_+=,.@-]{1,64})\/([A-Za-z0-9_+=,.@-]{1,64})$/;
