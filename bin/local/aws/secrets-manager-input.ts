import { z } from 'zod';
import { AwsError } from './error.ts';
import { FILTER_KEYS } from './secret-filter.ts';
import type { Operation } from './server.ts';

const SecretId = z.string().min(1).max(2048);
const VersionId = z.string().min(32).max(64);
const Stage = z.string().min(1).max(256);
const NextToken = z.string().min(1).max(4096);
const MaxResults = z.int().min(1).max(100);
const tagText = z.string().regex(/^[\p{L}\p{Z}\p{N}_.:/=+\-@]*$/u);
const Tags = z.array(z.object({ Key: tagText.min(1).max(128), Value: tagText.max(256).default('') })).max(50);
const filterValue = z
  .string()
  .max(512)
  .regex(/^!?[a-zA-Z0-9 :_@/+=.!-]*$/);
const Filters = z.array(z.object({ Key: z.enum(FILTER_KEYS), Values: z.array(filterValue).min(1).max(10) })).max(10);

const MAX_SECRET_BYTES = 65_536;
const Value = {
  SecretString: z
    .string()
    .min(1)
    .refine((text) => Buffer.byteLength(text) <= MAX_SECRET_BYTES)
    .optional(),
  SecretBinary: z
    .base64()
    .min(1)
    .refine((text) => Buffer.byteLength(text, 'base64') <= MAX_SECRET_BYTES)
    .optional(),
  ClientRequestToken: z.string().optional(),
};
const Details = { Description: z.string().max(2048).optional(), KmsKeyId: z.string().max(2048).optional() };

/** The members that each operation takes; as in AWS, all others are ignored. */
export const INPUTS = {
  CreateSecret: z.object({ Name: z.string().min(1).max(512), Tags: Tags.default([]), ...Details, ...Value }),
  UpdateSecret: z.object({ SecretId, ...Details, ...Value }),
  PutSecretValue: z.object({ SecretId, VersionStages: z.array(Stage).min(1).max(20).optional(), ...Value }),
  GetSecretValue: z.object({ SecretId, VersionId: VersionId.optional(), VersionStage: Stage.optional() }),
  BatchGetSecretValue: z.object({
    SecretIdList: z.array(SecretId).min(1).max(20).optional(),
    Filters: Filters.optional(),
    MaxResults: MaxResults.max(20).optional(),
    NextToken: NextToken.optional(),
  }),
  DescribeSecret: z.object({ SecretId }),
  ListSecrets: z.object({
    Filters: Filters.default([]),
    IncludePlannedDeletion: z.boolean().default(false),
    MaxResults: MaxResults.default(100),
    NextToken: NextToken.optional(),
    SortBy: z.enum(['created-date', 'last-changed-date', 'last-accessed-date', 'name']).default('created-date'),
    SortOrder: z.enum(['asc', 'desc']).default('asc'),
  }),
  ListSecretVersionIds: z.object({
    SecretId,
    IncludeDeprecated: z.boolean().default(false),
    MaxResults: MaxResults.default(100),
    NextToken: NextToken.optional(),
  }),
  UpdateSecretVersionStage: z.object({
    SecretId,
    VersionStage: Stage,
    RemoveFromVersionId: VersionId.optional(),
    MoveToVersionId: VersionId.optional(),
  }),
  TagResource: z.object({ SecretId, Tags }),
  UntagResource: z.object({ SecretId, TagKeys: z.array(tagText.min(1).max(128)) }),
  DeleteSecret: z.object({
    SecretId,
    RecoveryWindowInDays: z.int().optional(),
    ForceDeleteWithoutRecovery: z.boolean().default(false),
  }),
  RestoreSecret: z.object({ SecretId }),
  GetResourcePolicy: z.object({ SecretId }),
  PutResourcePolicy: z.object({ SecretId, ResourcePolicy: z.string().min(1).max(20_480) }),
  DeleteResourcePolicy: z.object({ SecretId }),
};

/** An operation that runs only with input that fits its schema. */
export function operation<Schema extends z.ZodType>(
  schema: Schema,
  run: (input: z.output<Schema>, accessKeyId: string) => object | undefined,
): Operation {
  return (input, accessKeyId) => run(parseInput(schema, input), accessKeyId);
}

/** The complaint names the member that is wrong and none of its content. */
function parseInput<Schema extends z.ZodType>(schema: Schema, input: unknown): z.output<Schema> {
  const parsed = schema.safeParse(input);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const detail = `Value at '${issue?.path.join('.')}' failed to satisfy constraint: ${issue?.message}`;
  throw new AwsError('ValidationException', `1 validation error detected: ${detail}`);
}
