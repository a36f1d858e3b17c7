import { connect } from 'node:http2';
import { expect, test } from 'vitest';
import { startHttp2 } from '../harness/http2-upstream.ts';
import { CONNECTION_FIELDS, SINGLE_FIELDS } from '../../src/http/header-list.ts';

/** Fields that may stand several times, so that each is sent. */
const OTHERS =
  'accept accept-encoding accept-ranges allow cache-control cookie link pragma set-cookie trailer vary via warning x-own';

test('the lists of fields are what node:http2 refuses to send', async (t) => {
  const { port } = await startHttp2(t);
  const session = connect(`http://127.0.0.1:${port}`);
  t.onTestFinished(() => session.destroy());
  const refusal = (name: string, value: string | string[]): string => {
    try {
      session.request({ [name]: value }).on('error', () => undefined);
      return 'none';
    } catch (error) {
      return (error as { readonly code: string }).code;
    }
  };
  const refusals = (names: Iterable<string>, value: string | string[]): ReadonlySet<string> =>
    new Set([...names].map((name) => refusal(name, value)));
  expect(refusals(SINGLE_FIELDS, ['a', 'b'])).toEqual(new Set(['ERR_HTTP2_HEADER_SINGLE_VALUE']));
  expect(refusals(CONNECTION_FIELDS, 'a')).toEqual(new Set(['ERR_HTTP2_INVALID_CONNECTION_HEADERS']));
  expect(refusals(OTHERS.split(' '), ['a', 'b'])).toEqual(new Set(['none']));
});
