// Package database reads tables and queries of databases as rows for a compute engine. It is the one door of the SQL drivers.
//
// Reading the source: url.go and the files beside it of a dialect's name say what an address means, database.go connects, test.go
// tells what fails of a connection, source.go reads; postgres.go, mysql.go and sqlite.go what differs, columns.go how values become Arrow.
//
// What a person sees of an address or of a driver's error goes through secrets, so that no password is in it.
package database
