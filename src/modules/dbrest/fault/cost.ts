import { DbrestFault } from './fault.ts';

/** The code of `tooCostly`. */
export const TOO_COSTLY = 'DBREST100';

/** DBREST100, 400: the planner expects the request to cost more than `dbrest_max_cost` allows. Nothing was executed. */
export function tooCostly(cost: number, limit: number): DbrestFault {
  return new DbrestFault({
    code: TOO_COSTLY,
    status: 400,
    message: 'The request would cost the database too much',
    details: `The estimated cost is ${cost}, at most ${limit} is allowed.`,
    hint: 'Filter by an indexed column, or ask for fewer rows with "limit".',
  });
}
