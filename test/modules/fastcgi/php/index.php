<?php
// The application of php.test.ts: what PHP makes of requests, and responses in all its ways.
switch ($_SERVER['PATH_INFO'] ?? '') {
    case '/echo':
        header('Content-Type: text/plain');
        echo $_SERVER['REQUEST_METHOD'], ' ', $_SERVER['SCRIPT_NAME'], ' ', json_encode($_GET), ' ', json_encode($_POST);
        break;
    case '/upload':
        $file = $_FILES['file'];
        echo $file['name'], ' ', $file['size'], ' ', md5_file($file['tmp_name']);
        break;
    case '/session':
        session_start();
        echo $_SESSION['count'] = ($_SESSION['count'] ?? 0) + 1;
        break;
    case '/status':
        http_response_code(418);
        header('X-Own: 1');
        header('X-Own: 2', false);
        echo 'teapot';
        break;
    case '/moved':
        header('Location: /elsewhere');
        break;
    case '/stream':
        echo str_repeat('a', 100000);
        flush();
        echo str_repeat('b', 100000);
        break;
    case '/broken':
        error_log('something is wrong');
        throw new Exception('nobody caught it');
    case '/internal':
        header('X-Accel-Redirect: /kept/file.txt');
        header('Content-Type: text/x-own');
        break;
    case '/after':
        echo 'early';
        fastcgi_finish_request();
        echo 'never sent';
        break;
}
