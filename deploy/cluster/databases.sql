-- A database for each service; its instances share it.
CREATE DATABASE relay;
CREATE DATABASE rpc;
CREATE DATABASE stream;
