import { ROLE_ARN } from '../functions/contract.ts';

/** The parts of a role's ARN that a caller arrives with; the path of the role is not among them. */
export interface Role {
  readonly partition: string;
  readonly account: string;
  readonly name: string;
}

/** Reads `arn:aws:iam::<account>:role/<path/><name>`; `undefined` for anything else, see `roleArnFault`. */
export function parseRoleArn(arn: string): Role | undefined {
  const [, partition, account, name] = ROLE_ARN.exec(arn) ?? [];
  if (partition === undefined || account === undefined || name === undefined) return undefined;
  return { partition, account, name };
}

/** Why a text is not the ARN of one IAM role. */
export function roleArnFault(arn: string): string | undefined {
  if (/[*?]/.test(arn)) return 'must name one role: no * and no ?';
  if (/:sts:.*:assumed-role\//.test(arn)) {
    return `must be the role itself, not a session of it: ${EXAMPLE}`;
  }
  if (/:iam:.*:user\//.test(arn)) return `must be a role, not a user: ${EXAMPLE}`;
  if (/:iam:.*:root$/.test(arn) || /^\d{12}$/.test(arn)) return `must be a role, not a whole account: ${EXAMPLE}`;
  return parseRoleArn(arn) === undefined ? `must be the ARN of an IAM role: ${EXAMPLE}` : undefined;
}

const EXAMPLE = 'arn:aws:iam::<account>:role/<name>';
