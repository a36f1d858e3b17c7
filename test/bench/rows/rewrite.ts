import { compare } from '../compare.ts';
import { httpLoad } from '../load.ts';
import type { Row } from '../row.ts';
import { startGw, startNginx } from '../servers.ts';
import type { Server } from '../servers.ts';

const CONTENT = {
  http: `
    map $uri $page { /old /new; ~^/blog/(?<slug>[a-z-]+)$ /posts/$slug; default ""; }
    map $http_host $tenant { hostnames; *.example.com example; default other; }
    geo $near { default far; 127.0.0.0/8 near; 10.0.0.0/8 inside; }
    split_clients "$remote_addr$arg_id" $variant { 20% a; 30% b; * c; }`,
  server: `
    location /text { return 200 "$tenant $near $variant $arg_id"; }
    location /old { return 200 $page; }
    location /blog/ { return 200 $page; }
    location /shop/ { rewrite ^/shop/(\\d+)/(.*)$ /item?id=$1&name=$2 last; }
    location /item { return 200 "$uri?$args"; }
    location /set/ { set $kind plain; if ($arg_a = b) { set $kind b; } if ($uri ~ ^/set/(.*)$) { set $rest $1; } return 200 "$kind $rest"; }
    location /changed/ { rewrite ^/changed/(.*)$ /stays/$1; return 200 $uri; }
    location / { return 200 ok; }`,
};

const TARGETS = ['/text?id=42', '/old', '/blog/a-post', '/shop/7/shoe?x=1', '/set/a?a=b', '/changed/x'];

/** A site's redirects, rewrites and variables, in turns. */
export const rewriteRow: Row = {
  name: 'rewrite',
  async run(bench) {
    const script = `
      local targets, requests, turn = { ${TARGETS.map((target) => `"${target}"`).join(', ')} }, {}, 0
      init = function() for i, target in ipairs(targets) do requests[i] = wrk.format("GET", target) end end
      request = function() turn = turn % #requests + 1; return requests[turn] end`;
    const load = (name: string, { port, pid }: Server) =>
      httpLoad(bench, { name, port, script, servers: [pid] });
    return compare(bench, load('gw rewrite', await startGw(bench, CONTENT)), [
      {
        line: 'return, map, rewrite / nginx',
        goal: 0.8,
        open: async () => load('nginx rewrite', await startNginx(bench, CONTENT)),
      },
    ]);
  },
};
