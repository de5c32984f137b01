interface Vector {
  readonly body?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly signature: string;
}

/** Vectors of AWS's test suite for Signature Version 4: POSTs to `/` of `example.amazonaws.com`. */
export const VECTORS: Readonly<Record<string, Vector>> = {
  'post-vanilla': {
    headers: {},
    signature: '5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b',
  },
  'post-header-key-sort': {
    headers: { 'my-header1': 'value1' },
    signature: 'c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c',
  },
  'post-x-www-form-urlencoded': {
    body: 'Param1=value1',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    signature: 'ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a',
  },
  'post-x-www-form-urlencoded-parameters': {
    body: 'Param1=value1',
    headers: { 'content-type': 'application/x-www-form-urlencoded; charset=utf8' },
    signature: '1a72ec8f64bd914b0e42e42607c7fbce7fb2c7465f63e3092b3b0d39fa77a6fe',
  },
  'post-sts-header-before': {
    headers: {
      'x-amz-security-token':
        'AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuwthAx7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA==',
    },
    signature: '85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead',
  },
};
