import { hash, timingSafeEqual } from 'node:crypto';
import { constantText } from '../../config/index.ts';
import type { ComplexValue } from '../../config/index.ts';
import type { Build } from '../../contract/index.ts';
import type { Exchange } from '../../http/index.ts';
import { parseQuery } from './query.ts';

const HEADER = 'x-publish-key';

/**
 * Tells whether a request carries the key: in the header, as parameter `key`, or in both. A repeated key is a
 * wrong one, and so is every key while the configured one is empty. The time it takes does not depend on how
 * much of a key is right.
 */
export function compileKeyCheck(key: ComplexValue, build: Build): (x: Exchange) => boolean {
  build.needHeader(HEADER);
  const constant = constantText(key);
  const digest = constant === undefined ? undefined : sha256(constant);
  const render = build.value(key);
  return (x) => {
    const expected = digest ?? variableDigest(render(x));
    const given = givenKeys(x);
    return (
      expected !== undefined &&
      given.length > 0 &&
      given.every((text) => timingSafeEqual(sha256(text), expected))
    );
  };
}

function variableDigest(secret: string): Buffer | undefined {
  return secret === '' ? undefined : sha256(secret);
}

function givenKeys(x: Exchange): string[] {
  const inQuery = (parseQuery(x.args) ?? []).filter(([name]) => name === 'key').map(([, value]) => value);
  if (inQuery.length > 1) return [];
  const inHeader = x.header(HEADER);
  return inHeader === undefined ? inQuery : [...inQuery, inHeader];
}

// Hashed first: timingSafeEqual wants equal lengths, and the length of the secret must not show either.
function sha256(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}
