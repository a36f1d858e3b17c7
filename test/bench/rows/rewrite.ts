import { compare } from '../compare.ts';
import { startNginx } from '../nginx.ts';
import type { Row } from '../row.ts';
import { type Server, startGw } from '../servers.ts';
import { httpLoad } from '../target.ts';

const CONTENT = {
  http: `
    map $uri $page { /old /new; ~^/blog/(?<slug>[a-z-]+)$ /posts/$slug; default ""; }
    map $http_host $tenant { hostnames; *.example.com example; default other; }
    map $arg_id $kind { 42 answer; ~^\\d+$ number; default text; }`,
  server: `
    location /text { return 200 "$tenant $kind $arg_id"; }
    location /old { return 200 $page; }
    location /blog/ { return 200 $page; }
    location /shop/ { rewrite ^/shop/(\\d+)/(.*)$ /item?id=$1&name=$2 last; }
    location /item { return 200 "$uri?$args"; }
    location /set/ { set $shown plain; if ($arg_a = b) { set $shown b; } if ($uri ~ ^/set/(.*)$) { set $rest $1; } return 200 "$shown $rest"; }
    location /changed/ { rewrite ^/changed/(.*)$ /stays/$1; return 200 $uri; }
    location / { return 200 ok; }`,
};

const TARGETS = ['/text?id=42', '/old', '/blog/a-post', '/shop/7/shoe?x=1', '/set/a?a=b', '/changed/x'];

/** The cost of a site's `return`, `map` and `rewrite` directives, in turns. */
export const rewriteRow: Row = {
  name: 'rewrite',
  async run(bench) {
    const requests = TARGETS.map((path) => ({ path }));
    const load = (name: string, { port, pid }: Server) =>
      httpLoad(bench, { name, port, requests, servers: [pid] });
    return compare(bench, {
      subject: load('gw rewrite', await startGw(bench, CONTENT)),
      peers: [
        {
          line: 'return, map, rewrite / nginx',
          goal: 0.8,
          open: async () => load('nginx rewrite', await startNginx(bench, CONTENT)),
        },
      ],
    });
  },
};
