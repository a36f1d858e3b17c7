server {
    root @SITE@;
    index index.html index.htm;
    server_name example.com www.example.com;
    add_header Strict-Transport-Security "max-age=63072000" always;
    location / {
        try_files $uri $uri/ =404;
    }
    listen 127.0.0.1:@TLS@ ssl; # managed by Certbot
    ssl_certificate @DIR@/tls/cert.pem; # managed by Certbot
    ssl_certificate_key @DIR@/tls/key.pem; # managed by Certbot
    include @DIR@/options-ssl-nginx.conf; # managed by Certbot
}
server {
    if ($host = www.example.com) {
        return 301 https://$host$request_uri;
    } # managed by Certbot
    if ($host = example.com) {
        return 301 https://$host$request_uri;
    } # managed by Certbot
    listen 127.0.0.1:@PORT@;
    server_name example.com www.example.com;
    return 404; # managed by Certbot
}
