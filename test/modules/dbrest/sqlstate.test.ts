import { expect, test } from 'vitest';
import { serverFault } from '../../../src/modules/dbrest/fault/index.ts';

const cases: [code: string, status: number, message?: string][] = [
  ['08006', 503],
  ['09000', 500],
  ['0L000', 403],
  ['0P000', 403],
  ['21000', 500],
  ['21000', 400, 'DELETE requires a WHERE clause'],
  ['22023', 400],
  ['22023', 401, 'role "ghost" does not exist'],
  ['22P02', 400],
  ['23502', 400],
  ['23503', 409],
  ['23505', 409],
  ['25006', 405],
  ['25P02', 500],
  ['28000', 403],
  ['2D000', 500],
  ['38000', 500],
  ['39000', 500],
  ['3B000', 500],
  ['40000', 500],
  ['40001', 409],
  ['40P01', 409],
  ['42501', 401],
  ['42703', 400],
  ['42883', 404],
  ['42883', 406, 'function xmlagg(text) does not exist'],
  ['42P01', 404],
  ['42P17', 500],
  ['53300', 503],
  ['53400', 500],
  ['54001', 500],
  ['55P03', 500],
  ['57014', 500],
  ['57P01', 503],
  ['57P03', 500],
  ['58030', 500],
  ['F0000', 500],
  ['HV000', 500],
  ['P0001', 400],
  ['P0002', 500],
  ['PT402', 402],
  ['PTabc', 500],
  ['XX000', 500],
];

test.each(cases)('SQLSTATE %s gives %i %s', (code, status, message = 'no') => {
  expect(serverFault({ code, message }, false).status).toBe(status);
});

test('a missing privilege is 403 for an authenticated role', () => {
  expect(serverFault({ code: '42501', message: 'no' }, true).status).toBe(403);
});

test('the error of an impossible grouping says what to do', () => {
  const message = 'could not identify an equality operator for type json';
  expect(serverFault({ code: '42883', message }, false)).toMatchObject({
    status: 404,
    message,
    hint: expect.stringContaining('cast it') as string,
  });
});

test('the body has all four keys, sorted, with the texts of the server', () => {
  const fault = serverFault({ code: '42501', message: 'permission denied', hint: 'grant it' }, false);
  expect(fault.body('verbose')).toBe(
    '{"code":"42501","details":null,"hint":"grant it","message":"permission denied"}',
  );
  expect(fault.body('minimal')).toBe('{"code":"42501","message":"permission denied"}');
  expect(fault.headers).toEqual(['WWW-Authenticate', 'Bearer']);
});
