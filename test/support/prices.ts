/** What AWS bills by the piece. */
type Billed = Readonly<Record<'billedMs' | 'invocations' | 'reads' | 'writes' | 'secretReads', number>>;

/** The bill in US dollars at list prices, without prices of the services. Left out are free tiers and fixed costs. */
export function costOf({ billedMs, invocations, reads, writes, secretReads }: Billed) {
  const gigabyteSeconds = (billedMs / 1_000) * MEMORY_GB;
  return {
    lambda: invocations * LAMBDA_REQUEST + gigabyteSeconds * LAMBDA_GIGABYTE_SECOND,
    dynamodb: reads * DYNAMODB_READ_UNIT + writes * ITEM_KB * DYNAMODB_WRITE_UNIT,
    secretsManager: secretReads * (SECRETS_MANAGER_CALL + KMS_CALL),
    logs: invocations * LOGGED_GB * LOGS_GIGABYTE,
  };
}

/** A service that always runs costs this much a month: three tasks of 0.5 vCPU and 1 GB, and a load balancer. */
export const alwaysOnMonth = () => HOURS * (3 * (0.5 * FARGATE_VCPU + FARGATE_GIGABYTE) + LOAD_BALANCER);

/** As the stack sets it. */
const MEMORY_GB = 0.5;
/** An item with a token of 1 kB; a write costs a unit for each kB. */
const ITEM_KB = 2;
/** The audit line, with the names and ids that AWS makes; Lambda adds no line of its own to a call that ends well. */
const LOGGED_GB = 1e-6;

// List prices of us-east-1 in US dollars, read on 2026-11-21.

/** https://aws.amazon.com/lambda/pricing, arm64; starting an instance costs the same per second as running it. */
const LAMBDA_REQUEST = 0.2e-6;
const LAMBDA_GIGABYTE_SECOND = 0.000_013_333_4;
/** https://aws.amazon.com/dynamodb/pricing/on-demand; a strongly consistent read of up to 4 kB takes a unit. */
const DYNAMODB_READ_UNIT = 0.125e-6;
const DYNAMODB_WRITE_UNIT = 0.625e-6;
/** https://aws.amazon.com/secrets-manager/pricing */
const SECRETS_MANAGER_CALL = 0.05 / 10_000;
/** https://aws.amazon.com/kms/pricing: each read of a secret under a key of one's own is one decryption. */
const KMS_CALL = 0.03 / 10_000;
/** https://aws.amazon.com/cloudwatch/pricing, ingestion. */
const LOGS_GIGABYTE = 0.5;
/** https://aws.amazon.com/fargate/pricing, arm64, and https://aws.amazon.com/elasticloadbalancing/pricing, an hour. */
const FARGATE_VCPU = 0.032_38;
const FARGATE_GIGABYTE = 0.003_56;
const LOAD_BALANCER = 0.0225;
const HOURS = 720;
