import { type RuleCase, testRule } from './findings-in.ts';

const api = (directives: string, beside = ''): string =>
  `location /api/ { dbrest_pass embedded; dbrest_schemas api; ${directives} } ${beside}`;
const SALARIES = 'location /api/salaries { deny all; }';

const cases: readonly RuleCase[] = [
  {
    it: 'names the limit of the location and locations below it',
    text: api('dbrest_mcp on; limit_except GET POST { deny all; }', SALARIES),
    says: ['each call of a tool is also subject to "limit_except GET POST", "location /api/salaries"'],
  },
  {
    it: 'speaks of batches, which may be set around the location, and of tools',
    text: `dbrest_batch on; ${api('dbrest_mcp write; location = /api/secrets { auth_request /login; }')}`,
    says: [
      'each item of a batch is also subject to "location = /api/secrets"',
      'each call of a tool is also subject to "location = /api/secrets"',
    ],
  },
  {
    it: 'names an "if" on the method, of the location or of the server',
    text: `if ($request_method = PUT) { return 405; }
      ${api('dbrest_mcp write; if ($request_method = DELETE) { return 403; }')}`,
    says: [
      'each call of a tool is also subject to "if ($request_method = PUT)", "if ($request_method = DELETE)"',
    ],
  },
  {
    it: 'says nothing of an "if" that is the same for both requests, or refuses nothing',
    text: api('dbrest_mcp on; if ($host = a) { return 403; } if ($arg_a) { return 301 /; }'),
  },
  { it: 'says nothing without tools and batches', text: api('', SALARIES) },
  { it: 'says nothing of other paths', text: api('dbrest_mcp on;', 'location /app/ { deny all; }') },
  {
    it: 'says nothing of a rule on the path of the tools themselves',
    text: api('dbrest_mcp on;', 'location = /api/mcp { deny all; }'),
  },
  {
    it: 'says nothing of what lets everybody in',
    text: api('dbrest_mcp on; limit_except GET { allow all; }', 'location /api/a { auth_basic off; }'),
  },
  {
    it: 'says nothing of a pattern, which may match no path of it',
    text: api('dbrest_mcp on;', 'location ~ ^/a { deny all; }'),
  },
];

testRule('dbrest-service-rules', cases);
