import { testRule } from './findings-in.ts';

const SCRIPT = 'fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name;';
const php = (text: string, pattern = '\\.php$'): string =>
  `location ~ ${pattern} { ${text} fastcgi_pass unix:/run/php.sock; }`;
const ANY_SCRIPT = 'PHP gets paths without a script: "/avatar.png/x.php" may run an uploaded file';

testRule('fastcgi-any-script', [
  { it: 'finds the pattern of every guide', text: php(SCRIPT), says: [ANY_SCRIPT] },
  { it: 'finds a path info without a test', text: php(SCRIPT, '[^/]\\.php(/|$)'), says: [ANY_SCRIPT] },
  { it: 'accepts "try_files"', text: php(`try_files $uri =404; ${SCRIPT}`) },
  { it: 'accepts "try_files" of Debian', text: php(`try_files $fastcgi_script_name =404; ${SCRIPT}`) },
  { it: 'accepts "if" about the file', text: php(`if (!-f $request_filename) { return 404; } ${SCRIPT}`) },
  { it: 'accepts one script for all', text: php('fastcgi_param SCRIPT_FILENAME /srv/app/index.php;') },
  { it: 'accepts a pattern for one script', text: php(SCRIPT, '^/index\\.php(/|$)') },
  {
    it: 'accepts an exact location',
    text: `location = /index.php { ${SCRIPT} fastcgi_pass 127.0.0.1:9000; }`,
  },
  { it: 'accepts another program', text: 'location ~ ^/git { fastcgi_pass unix:/run/fcgiwrap.socket; }' },
]);

testRule('fastcgi-no-script', [
  {
    it: 'tells that a level drops the parameters above',
    text: `${SCRIPT} ${php('try_files $uri =404; fastcgi_param HTTPS on;')}`,
    says: ['PHP gets no "SCRIPT_FILENAME", so it does not know which script to run'],
  },
  {
    it: 'knows nothing of a file that cannot be read',
    text: php('try_files $uri =404; include fastcgi_params;'),
  },
  { it: 'accepts an inherited one', text: `${SCRIPT} ${php('try_files $uri =404;')}` },
  { it: 'accepts another program', text: 'location /api/ { fastcgi_pass 127.0.0.1:9001; }' },
]);

testRule('fastcgi-path-info', [
  {
    it: 'finds a test of the whole path',
    text: php(`fastcgi_split_path_info ^(.+?\\.php)(/.*)$; try_files $uri =404; ${SCRIPT}`, '\\.php(/|$)'),
    says: ['"try_files $uri" tests the whole path, so every path after a script gets 404'],
  },
  {
    it: 'accepts it where no path goes on',
    text: php(`fastcgi_split_path_info ^(.+?\\.php)(/.*)$; try_files $uri =404; ${SCRIPT}`),
  },
  {
    it: 'accepts a test of the script',
    text: php(
      `fastcgi_split_path_info ^(.+?\\.php)(/.*)$; try_files $fastcgi_script_name =404; ${SCRIPT}`,
      '\\.php(/|$)',
    ),
  },
]);

const cached = (text: string): string =>
  `fastcgi_cache_path /var/cache/gw keys_zone=pages:1m; fastcgi_cache pages; ${text}
   server { listen 127.0.0.1:80; location /a { fastcgi_pass 127.0.0.1:9001; } location /b { fastcgi_pass 127.0.0.1:9002; } }`;

testRule('fastcgi-cache-key', [
  {
    it: 'tells it once for all locations',
    in: 'http',
    text: cached(''),
    says: ['no "fastcgi_cache_key" for "fastcgi_cache": nginx would serve one response for every page'],
  },
  { it: 'accepts a key of a level above', in: 'http', text: cached('fastcgi_cache_key $request_uri;') },
]);
