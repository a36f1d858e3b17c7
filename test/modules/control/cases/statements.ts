import { type Case, error } from './case.ts';

/** The statements of databases, without a database. */
export const statementCases: readonly Case[] = ['-1', '1001', '2x', 'all'].map((limit) => ({
  it: `refuses the limit ${limit}`,
  path: `/runtime/statements?limit=${limit}`,
  status: 400,
  json: error('invalid query param: limit must be a number up to 1000'),
}));
