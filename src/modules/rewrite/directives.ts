import { AT, defines, directivesFor, readers } from '../../config/index.ts';
import type { RewriteConfig } from './config.ts';
import { ifStep } from './read-if.ts';
import { breakStep, returnStep, rewriteStep, setStep } from './readers.ts';

const ANYWHERE = ['server', 'location', 'server if', 'location if'] as const;

/** What every step has in common: they run in file order, and a nested block does not see them. */
const STEP = { contexts: ANYWHERE, into: 'steps', repeat: 'append', inherit: false } as const;

/** nginx's rewrite module. */
export const directives = directivesFor<RewriteConfig>()({
  return: {
    ...STEP,
    args: returnStep,
    summary: 'Stops and answers with a status, a text or a redirect; 444 closes the connection.',
    source: 'nginx ngx_http_rewrite_module#return',
  },
  rewrite: {
    ...STEP,
    args: rewriteStep,
    summary: 'Changes the URI where it matches a regular expression, or redirects.',
    source: 'nginx ngx_http_rewrite_module#rewrite',
  },
  set: {
    ...STEP,
    args: setStep,
    secret: 'named',
    summary: 'Gives a variable a value for this request.',
    roles: defines('variable', AT.variable),
    source: 'nginx ngx_http_rewrite_module#set',
  },
  break: {
    ...STEP,
    args: breakStep,
    summary: 'Ends the rewrite directives of this block; the request stays in its location.',
    source: 'nginx ngx_http_rewrite_module#break',
  },
  if: {
    ...STEP,
    contexts: ['server'],
    args: ifStep,
    opens: 'server if',
    summary:
      'Runs the rewrite directives inside for the requests that a condition holds for: a variable that is neither empty nor 0, a comparison, a file test.',
    source: 'nginx ngx_http_rewrite_module#if',
  },
  'if (location)': {
    ...STEP,
    contexts: ['location'],
    args: ifStep,
    opens: 'location if',
    summary: 'In a location, the last one that holds also takes the place of the location.',
    source: 'nginx ngx_http_rewrite_module#if',
  },
  rewrite_log: {
    contexts: ['http', ...ANYWHERE],
    args: readers.flag,
    into: 'log',
    default: false,
    summary: 'Tells the error log, at level notice, what matches and what is rewritten.',
    source: 'nginx ngx_http_rewrite_module#rewrite_log',
  },
});
