import { directivesFor, readers, type Rows, uses } from '../../config/index.ts';
import { forwardingDirectives, paramReader, passAddress, tlsDirectives } from '../../forwarding/index.ts';
import type { UwsgiConfig } from './config.ts';

/** The schemes of addresses; the second one is encrypted. */
export const SCHEMES = { '': 'uwsgi', uwsgi: 'uwsgi', suwsgi: 'suwsgi' } as const;

const HSL = ['http', 'server', 'location'] as const;
const source = (name: string): string => `nginx ngx_http_uwsgi_module#${name}`;
const byte = readers.integer({ min: 0, max: 255 });

const own = directivesFor<UwsgiConfig>()({
  uwsgi_pass: {
    contexts: ['location', 'location if'],
    args: passAddress(SCHEMES, 0),
    into: 'pass',
    inherit: 'nameless',
    summary: 'Passes the request to uWSGI: `[uwsgi:// | suwsgi://]host:port`, `unix:/path` or a group.',
    roles: uses('upstream', { behind: ['', 'uwsgi://', 'suwsgi://'], until: ':' }),
    source: source('uwsgi_pass'),
  },
  uwsgi_param: {
    contexts: [...HSL, 'location if'],
    args: paramReader,
    into: 'params',
    repeat: 'append',
    secret: 'named',
    summary: 'A parameter for the program. Like a header of the request, `HTTP_NAME` replaces it.',
    source: source('uwsgi_param'),
  },
  uwsgi_modifier1: {
    contexts: HSL,
    args: byte,
    into: 'modifier1',
    default: 0,
    summary: 'The first number that tells uWSGI how to serve the request.',
    source: source('uwsgi_modifier1'),
  },
  uwsgi_modifier2: {
    contexts: HSL,
    args: byte,
    into: 'modifier2',
    default: 0,
    summary: 'The second number that tells uWSGI how to serve the request.',
    source: source('uwsgi_modifier2'),
  },
  uwsgi_string: {
    contexts: HSL,
    args: readers.text,
    into: 'string',
    default: '',
    summary: 'A text behind the parameters, for modifiers that take one, such as code to evaluate.',
    source: source('uwsgi_string'),
  },
});

/** nginx's uwsgi module. */
export const directives: Rows<UwsgiConfig> = {
  ...own,
  ...forwardingDirectives('uwsgi', { cache_key: '$scheme$host$request_uri' }),
  ...tlsDirectives('uwsgi', { ssl_name: 'the host in "uwsgi_pass"' }),
};
