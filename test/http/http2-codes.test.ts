import { constants } from 'node:http2';
import { expect, test } from 'vitest';
import { END_STREAM, HTTP2_CODES } from '../../src/http/index.ts';

test('the error codes of HTTP/2 are those that Node has', () => {
  const ofNode: Readonly<Record<string, unknown>> = { ...constants };
  expect(Object.entries(HTTP2_CODES)).toHaveLength(14);
  for (const [name, code] of Object.entries(HTTP2_CODES)) expect(ofNode[`NGHTTP2_${name}`], name).toBe(code);
  expect(constants.NGHTTP2_FLAG_END_STREAM).toBe(END_STREAM);
});
